/* The old include paths against the interfaces that they stand for: values, types and members.
 * Nearly all of this test happens in the compiler. */
#include "orte_config.h"

#ifndef HAVE_UNISTD_H
#error "the original's configure found <unistd.h>"
#endif

#include "opal/class/opal_bitmap.h"
#include "opal/class/opal_list.h"
#include "opal/constants.h"
#include "opal/dss/dss.h"
#include "opal/mca/crs/base/base.h"
#include "opal/mca/crs/crs.h"
#include "opal/mca/mca.h"
#include "opal/runtime/opal.h"
#include "opal/util/output.h"
#include "orte/constants.h"
#include "orte/mca/errmgr/errmgr.h"
#include "orte/mca/oob/base/base.h"
#include "orte/mca/rml/base/rml_contact.h"
#include "orte/mca/rml/rml.h"
#include "orte/runtime/orte_wait.h"
#include "orte/runtime/runtime.h"
#include "orte/types.h"
#include "orte/util/name_fns.h"
#include "orte/util/proc_info.h"

#include <tests/lib/unit.h>
#include <tests/unit/base/seed.h>

/* The ends and the special ones of the codes; test-seed-status has them all. */
ASSERT_VALUE(OPAL_ERR_INTERUPTED, -9);
ASSERT_VALUE(OPAL_EXISTS, -14);
ASSERT_VALUE(OPAL_ERR_DATA_OVERWRITE_ATTEMPT, -32);
ASSERT_VALUE(ORTE_EXISTS, -14);
ASSERT_VALUE(ORTE_ERR_SILENT, -116);
ASSERT_VALUE(ORTE_ERR_COMM_DISABLED, -132);

ASSERT_TYPE((orte_proc_type_t) 0, uint32_t);
ASSERT_VALUE(ORTE_PROC_TYPE_NONE, 0);
ASSERT_VALUE(ORTE_PROC_SINGLETON, 1);
ASSERT_VALUE(ORTE_PROC_DAEMON, 2);
ASSERT_VALUE(ORTE_PROC_HNP, 4);
ASSERT_VALUE(ORTE_PROC_TOOL, 8);
ASSERT_VALUE(ORTE_PROC_NON_MPI, 0x10);
ASSERT_VALUE(ORTE_PROC_MPI, 0x20);
ASSERT_VALUE(ORTE_PROC_APP, 0x30);
ASSERT_VALUE(ORTE_NON_TOOL, 0);
ASSERT_VALUE(ORTE_TOOL, 1);
ASSERT_VALUE(ORTE_TOOL_WITH_NAME, 2);

ASSERT_TYPE(&orte_init, int (*)(int *, char ***, orte_proc_type_t));
ASSERT_TYPE(&orte_finalize, int (*)(void));
ASSERT_TYPE(orte_initialized, bool);
ASSERT_TYPE(orte_finalizing, bool);
ASSERT_TYPE(ORTE_PROC_MY_NAME, orte_process_name_t *);
ASSERT_TYPE(ORTE_PROC_MY_DAEMON, orte_process_name_t *);
ASSERT_TYPE(ORTE_PROC_MY_HNP, orte_process_name_t *);
ASSERT_TYPE(orte_process_info.my_daemon_uri, char *);
ASSERT_TYPE(orte_process_info.my_hnp_uri, char *);
ASSERT_TYPE(orte_process_info.hnp_pid, pid_t);
ASSERT_TYPE(orte_process_info.app_num, int32_t);
ASSERT_TYPE(orte_process_info.num_procs, orte_vpid_t);
ASSERT_TYPE(orte_process_info.num_nodes, int);
ASSERT_TYPE(orte_process_info.nodename, char *);
ASSERT_TYPE(orte_process_info.nodeid, orte_nodeid_t);
ASSERT_VALUE(ORTE_NODEID_INVALID, -999);
ASSERT_TYPE(&opal_list_insert, bool (*)(opal_list_t *, opal_list_item_t *, long long));
ASSERT_TYPE(&opal_list_join, void (*)(opal_list_t *, opal_list_item_t *, opal_list_t *));
ASSERT_TYPE(&opal_list_splice, void (*)(opal_list_t *, opal_list_item_t *, opal_list_t *,
                                        opal_list_item_t *, opal_list_item_t *));
ASSERT_TYPE(orte_process_info.pid, pid_t);
ASSERT_TYPE(orte_process_info.proc_type, orte_proc_type_t);
ASSERT_TYPE(orte_process_info.my_port, uint16_t);
ASSERT_TYPE(orte_process_info.num_restarts, int32_t);
ASSERT_TYPE(orte_process_info.tmpdir_base, char *);
ASSERT_TYPE(orte_process_info.top_session_dir, char *);
ASSERT_TYPE(orte_process_info.job_session_dir, char *);
ASSERT_TYPE(orte_process_info.proc_session_dir, char *);

ASSERT_TYPE(((orte_message_event_t *) NULL)->sender, orte_process_name_t);
ASSERT_TYPE(((orte_message_event_t *) NULL)->buffer, opal_buffer_t *);
ASSERT_TYPE(((orte_message_event_t *) NULL)->tag, orte_rml_tag_t);
ASSERT_TYPE(ORTE_NAME_PRINT(NULL), char *);
ASSERT_TYPE(ORTE_JOBID_PRINT(0), char *);
ASSERT_TYPE(ORTE_VPID_PRINT(0), char *);
ASSERT_TYPE(ORTE_ERROR_NAME(0), const char *);
ASSERT_TYPE(orte_rml, orte_rml_module_t);

ASSERT_TYPE((orte_std_cntr_t) 0, int32_t);
ASSERT_TYPE((orte_exit_code_t) 0, int32_t);
ASSERT_VALUE(ORTE_STD_CNTR_MAX, INT32_MAX);
ASSERT_VALUE(ORTE_STD_CNTR_INVALID, -1);
ASSERT_VALUE(ORTE_JOBID_MAX, UINT32_MAX - 2);
ASSERT_VALUE(ORTE_VPID_MAX, UINT32_MAX - 2);
ASSERT_VALUE(ORTE_JOB_FAMILY(0x12345678), 0x1234);
ASSERT_VALUE(ORTE_LOCAL_JOBID(0x12345678), 0x5678);
ASSERT_VALUE(ORTE_CONSTRUCT_JOB_FAMILY(0x1234u), 0x12340000u);
ASSERT_VALUE(ORTE_CONSTRUCT_LOCAL_JOBID(0x12345678u, 0x9abcu), 0x12349abcu);
ASSERT_VALUE(ORTE_NS_CMP_ALL, 0xff);
ASSERT_VALUE(ORTE_ERROR_DEFAULT_EXIT_CODE, 1);
ASSERT_VALUE(OPAL_CRS_CONTINUE, 4);

ASSERT_TYPE(&orte_rml_base_get_contact_info, int (*)(orte_jobid_t, opal_buffer_t *));
ASSERT_TYPE(&orte_rml_base_update_contact_info, int (*)(opal_buffer_t *));
ASSERT_TYPE(&orte_rml_base_parse_uris, int (*)(const char *, orte_process_name_t *, char ***));

/* The seed's structures begin where their parents do. */
ASSERT_VALUE(offsetof(opal_list_item_t, super), 0);
ASSERT_VALUE(offsetof(opal_list_t, super), 0);
ASSERT_VALUE(offsetof(orte_message_event_t, super), 0);
ASSERT_VALUE(offsetof(opal_output_stream_t, super), 0);
ASSERT_VALUE(sizeof(orte_process_name_t), 8);

/* A component of the RML, as one was written under the old paths. */
static orte_rml_component_t component = {
    {ORTE_RML_BASE_VERSION_2_0_0, "old", 1, 6, 0, NULL, NULL, NULL, NULL},
    {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    NULL,
};

START_TEST(a_component_can_be_written)
{
    ck_assert_str_eq(component.rml_version.mca_type_name, "rml");
}
END_TEST

/* The arguments are read again on every turn, and at least once. */
static int reads;

static int next_read(void)
{
    return ++reads;
}

START_TEST(a_progressed_wait_reads_its_arguments_again)
{
    ORTE_PROGRESSED_WAIT(false, next_read(), 5);
    ck_assert_int_eq(reads, 5);
    ORTE_PROGRESSED_WAIT(next_read() == 8, 0, 1);
    ck_assert_int_eq(reads, 8);
    ORTE_PROGRESSED_WAIT(next_read() > 0, 0, 1);
    ck_assert_int_eq(reads, 9);
    ORTE_PROGRESSED_WAIT(false, 1, 1);
}
END_TEST

UNIT_MAIN("compat/seed")
