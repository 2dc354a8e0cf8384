/* rml.h against the interface that it declares: types, order of members, values. Nearly all of this
 * test happens in the compiler. */
#include <tests/lib/unit.h>
#include <tests/unit/base/seed.h>

#include <keel/rml.h>

ASSERT_TYPE((orte_rml_component_init_fn_t) 0, struct orte_rml_module_t *(*) (int *) );
ASSERT_TYPE((orte_rml_callback_fn_t) 0, void (*)(int, struct orte_process_name_t *, struct iovec *,
                                                 int, orte_rml_tag_t, void *));
ASSERT_TYPE((orte_rml_buffer_callback_fn_t) 0,
            void (*)(int, struct orte_process_name_t *, struct opal_buffer_t *, orte_rml_tag_t,
                     void *));
ASSERT_TYPE((orte_rml_exception_callback_t) 0,
            void (*)(const orte_process_name_t *, orte_rml_exception_t));
ASSERT_TYPE((orte_rml_module_enable_comm_fn_t) 0, int (*)(void));
ASSERT_TYPE((orte_rml_module_finalize_fn_t) 0, int (*)(void));
ASSERT_TYPE((orte_rml_module_get_contact_info_fn_t) 0, char *(*) (void) );
ASSERT_TYPE((orte_rml_module_set_contact_info_fn_t) 0, int (*)(const char *));
ASSERT_TYPE((orte_rml_module_get_new_name_fn_t) 0, int (*)(orte_process_name_t *));
ASSERT_TYPE((orte_rml_module_ping_fn_t) 0, int (*)(const char *, const struct timeval *));
ASSERT_TYPE((orte_rml_module_send_fn_t) 0,
            int (*)(struct orte_process_name_t *, struct iovec *, int, int, int));
ASSERT_TYPE((orte_rml_module_send_buffer_fn_t) 0,
            int (*)(struct orte_process_name_t *, struct opal_buffer_t *, orte_rml_tag_t, int));
ASSERT_TYPE((orte_rml_module_send_nb_fn_t) 0,
            int (*)(struct orte_process_name_t *, struct iovec *, int, orte_rml_tag_t, int,
                    orte_rml_callback_fn_t, void *));
ASSERT_TYPE((orte_rml_module_send_buffer_nb_fn_t) 0,
            int (*)(struct orte_process_name_t *, struct opal_buffer_t *, orte_rml_tag_t, int,
                    orte_rml_buffer_callback_fn_t, void *));
ASSERT_TYPE((orte_rml_module_recv_fn_t) 0,
            int (*)(struct orte_process_name_t *, struct iovec *, int, orte_rml_tag_t, int));
ASSERT_TYPE((orte_rml_module_recv_buffer_fn_t) 0,
            int (*)(struct orte_process_name_t *, struct opal_buffer_t *, orte_rml_tag_t, int));
ASSERT_TYPE((orte_rml_module_recv_nb_fn_t) 0,
            int (*)(struct orte_process_name_t *, struct iovec *, int, orte_rml_tag_t, int,
                    orte_rml_callback_fn_t, void *));
ASSERT_TYPE((orte_rml_module_recv_buffer_nb_fn_t) 0,
            int (*)(struct orte_process_name_t *, orte_rml_tag_t, int,
                    orte_rml_buffer_callback_fn_t, void *));
ASSERT_TYPE((orte_rml_module_recv_cancel_fn_t) 0, int (*)(orte_process_name_t *, orte_rml_tag_t));
ASSERT_TYPE((orte_rml_module_exception_fn_t) 0, int (*)(orte_rml_exception_callback_t));
ASSERT_TYPE((orte_rml_module_ft_event_fn_t) 0, int (*)(int));

ASSERT_SLOT(orte_rml_module_t, 0, enable_comm, orte_rml_module_enable_comm_fn_t);
ASSERT_SLOT(orte_rml_module_t, 1, finalize, orte_rml_module_finalize_fn_t);
ASSERT_SLOT(orte_rml_module_t, 2, get_contact_info, orte_rml_module_get_contact_info_fn_t);
ASSERT_SLOT(orte_rml_module_t, 3, set_contact_info, orte_rml_module_set_contact_info_fn_t);
ASSERT_SLOT(orte_rml_module_t, 4, get_new_name, orte_rml_module_get_new_name_fn_t);
ASSERT_SLOT(orte_rml_module_t, 5, ping, orte_rml_module_ping_fn_t);
ASSERT_SLOT(orte_rml_module_t, 6, send, orte_rml_module_send_fn_t);
ASSERT_SLOT(orte_rml_module_t, 7, send_nb, orte_rml_module_send_nb_fn_t);
ASSERT_SLOT(orte_rml_module_t, 8, send_buffer, orte_rml_module_send_buffer_fn_t);
ASSERT_SLOT(orte_rml_module_t, 9, send_buffer_nb, orte_rml_module_send_buffer_nb_fn_t);
ASSERT_SLOT(orte_rml_module_t, 10, recv, orte_rml_module_recv_fn_t);
ASSERT_SLOT(orte_rml_module_t, 11, recv_nb, orte_rml_module_recv_nb_fn_t);
ASSERT_SLOT(orte_rml_module_t, 12, recv_buffer, orte_rml_module_recv_buffer_fn_t);
ASSERT_SLOT(orte_rml_module_t, 13, recv_buffer_nb, orte_rml_module_recv_buffer_nb_fn_t);
ASSERT_SLOT(orte_rml_module_t, 14, recv_cancel, orte_rml_module_recv_cancel_fn_t);
ASSERT_SLOT(orte_rml_module_t, 15, add_exception_handler, orte_rml_module_exception_fn_t);
ASSERT_SLOT(orte_rml_module_t, 16, del_exception_handler, orte_rml_module_exception_fn_t);
ASSERT_SLOT(orte_rml_module_t, 17, ft_event, orte_rml_module_ft_event_fn_t);
ASSERT_VALUE(sizeof(orte_rml_module_t), 18 * sizeof(void (*)(void)));

ASSERT_TYPE((orte_rml_tag_t) 0, uint32_t);
ASSERT_VALUE(ORTE_RML_TAG_INVALID, 0);
ASSERT_VALUE(ORTE_RML_TAG_DAEMON, 1);
ASSERT_VALUE(ORTE_RML_TAG_IOF_HNP, 2);
ASSERT_VALUE(ORTE_RML_TAG_IOF_PROXY, 3);
ASSERT_VALUE(ORTE_RML_TAG_XCAST_BARRIER, 4);
ASSERT_VALUE(ORTE_RML_TAG_PLM, 5);
ASSERT_VALUE(ORTE_RML_TAG_PLM_PROXY, 6);
ASSERT_VALUE(ORTE_RML_TAG_ERRMGR, 7);
ASSERT_VALUE(ORTE_RML_TAG_WIREUP, 8);
ASSERT_VALUE(ORTE_RML_TAG_RML_INFO_UPDATE, 9);
ASSERT_VALUE(ORTE_RML_TAG_ORTED_CALLBACK, 10);
ASSERT_VALUE(ORTE_RML_TAG_APP_LAUNCH_CALLBACK, 11);
ASSERT_VALUE(ORTE_RML_TAG_REPORT_REMOTE_LAUNCH, 12);
ASSERT_VALUE(ORTE_RML_TAG_CKPT, 13);
ASSERT_VALUE(ORTE_RML_TAG_RML_ROUTE, 14);
ASSERT_VALUE(ORTE_RML_TAG_ALLGATHER, 15);
ASSERT_VALUE(ORTE_RML_TAG_ALLGATHER_LIST, 16);
ASSERT_VALUE(ORTE_RML_TAG_BARRIER, 17);
ASSERT_VALUE(ORTE_RML_TAG_INIT_ROUTES, 18);
ASSERT_VALUE(ORTE_RML_TAG_UPDATE_ROUTE_ACK, 19);
ASSERT_VALUE(ORTE_RML_TAG_SYNC, 20);
ASSERT_VALUE(ORTE_RML_TAG_FILEM_BASE, 21);
ASSERT_VALUE(ORTE_RML_TAG_FILEM_BASE_RESP, 22);
ASSERT_VALUE(ORTE_RML_TAG_FILEM_RSH, 23);
ASSERT_VALUE(ORTE_RML_TAG_SNAPC, 24);
ASSERT_VALUE(ORTE_RML_TAG_SNAPC_FULL, 25);
ASSERT_VALUE(ORTE_RML_TAG_TOOL, 26);
ASSERT_VALUE(ORTE_RML_TAG_DATA_SERVER, 27);
ASSERT_VALUE(ORTE_RML_TAG_DATA_CLIENT, 28);
ASSERT_VALUE(ORTE_RML_TAG_COLLECTIVE_TIMER, 29);
ASSERT_VALUE(ORTE_RML_TAG_DAEMON_COLLECTIVE, 30);
ASSERT_VALUE(ORTE_RML_TAG_SHOW_HELP, 31);
ASSERT_VALUE(ORTE_RML_TAG_DEBUGGER_RELEASE, 32);
ASSERT_VALUE(ORTE_RML_TAG_GRPCOMM_PROFILE, 33);
ASSERT_VALUE(ORTE_RML_TAG_ONESIDED_BARRIER, 34);
ASSERT_VALUE(ORTE_RML_TAG_BOOTSTRAP, 35);
ASSERT_VALUE(ORTE_RML_TAG_MAX, 100);
ASSERT_VALUE(ORTE_RML_TAG_T, OPAL_UINT32);

ASSERT_VALUE(ORTE_RML_NON_PERSISTENT, 0);
ASSERT_VALUE(ORTE_RML_PEEK, 1);
ASSERT_VALUE(ORTE_RML_TRUNC, 2);
ASSERT_VALUE(ORTE_RML_ALLOC, 4);
ASSERT_VALUE(ORTE_RML_PERSISTENT, 8);
ASSERT_VALUE(ORTE_RML_FLAG_RECURSIVE_CALLBACK, 0x10);
ASSERT_VALUE(ORTE_RML_PEER_UNREACH, 0);
ASSERT_VALUE(ORTE_RML_PEER_DISCONNECTED, 1);

/* The component: version, data block, init. */
_Static_assert(offsetof(orte_rml_component_t, rml_version) == 0, "rml_version");
_Static_assert(offsetof(orte_rml_component_t, rml_data) >= sizeof(mca_base_component_t),
               "rml_data");
_Static_assert(offsetof(orte_rml_component_t, rml_init) > offsetof(orte_rml_component_t, rml_data),
               "rml_init");
ASSERT_TYPE(&((orte_rml_component_t *) 0)->rml_version, mca_base_component_t *);
ASSERT_TYPE(&((orte_rml_component_t *) 0)->rml_data, mca_base_component_data_t *);
ASSERT_TYPE(((orte_rml_component_t *) 0)->rml_init, orte_rml_component_init_fn_t);

/* Names. */
ASSERT_TYPE(((orte_process_name_t *) NULL)->jobid, uint32_t);
ASSERT_TYPE(((orte_process_name_t *) NULL)->vpid, uint32_t);
ASSERT_VALUE(offsetof(orte_process_name_t, jobid), 0);
ASSERT_VALUE(offsetof(orte_process_name_t, vpid), 4);
ASSERT_VALUE(ORTE_JOBID_WILDCARD, UINT32_MAX - 1);
ASSERT_VALUE(ORTE_VPID_WILDCARD, UINT32_MAX - 1);
ASSERT_VALUE(ORTE_JOBID_INVALID, UINT32_MAX);
ASSERT_VALUE(ORTE_VPID_INVALID, UINT32_MAX);
ASSERT_VALUE(ORTE_NS_CMP_JOBID, 2);
ASSERT_VALUE(ORTE_NS_CMP_VPID, 4);
ASSERT_VALUE(ORTE_NS_CMP_ALL, 0xff);

/* States of ft_event. */
ASSERT_VALUE(OPAL_CRS_NONE, 0);
ASSERT_VALUE(OPAL_CRS_CHECKPOINT, 1);
ASSERT_VALUE(OPAL_CRS_RESTART_PRE, 2);
ASSERT_VALUE(OPAL_CRS_RESTART, 3);
ASSERT_VALUE(OPAL_CRS_CONTINUE, 4);
ASSERT_VALUE(OPAL_CRS_TERM, 5);
ASSERT_VALUE(OPAL_CRS_RUNNING, 6);
ASSERT_VALUE(OPAL_CRS_ERROR, 7);

static int open_component(void)
{
    return ORTE_SUCCESS;
}

/* A component is written as the original's were: the macro, then the rest in order. */
static orte_rml_component_t component = {
    {ORTE_RML_BASE_VERSION_2_0_0, "test", OPAL_MAJOR_VERSION, OPAL_MINOR_VERSION,
     OPAL_RELEASE_VERSION, open_component, NULL, NULL, NULL},
    {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    NULL,
};

START_TEST(a_component_can_be_written)
{
    ck_assert_str_eq(component.rml_version.mca_type_name, "rml");
    ck_assert_int_eq(component.rml_version.mca_type_major_version, 2);
    ck_assert_str_eq(component.rml_version.mca_component_name, "test");
    ck_assert_int_eq(component.rml_version.mca_component_major_version, 1);
    ck_assert_int_eq(component.rml_version.mca_component_minor_version, 6);
    ck_assert_ptr_eq(component.rml_version.mca_open_component, open_component);
}
END_TEST

UNIT_MAIN("seed-rml")
