#include <tests/lib/unit.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <stdlib.h>
#include <string.h>

static opal_proc_t proc = {.proc_name = {.jobid = 1, .vpid = 0}, .hostname = "here"};

static const opal_proc_t *me(void *host)
{
    ck_assert_str_eq(host, "host");
    return &proc;
}

static const struct keel_host_ops ops = {.me = me};
static char reason[300];

static int open_with(const char *choice)
{
    ck_assert_int_eq(param_override("btl", choice), ORTE_SUCCESS);
    reason[0] = '\0';
    return btl_open(&ops, (void *) "host", reason, sizeof(reason));
}

static const char *first_name(void)
{
    size_t count;
    mca_btl_base_module_t **modules = btl_modules(&count);
    ck_assert_uint_ge(count, 1);
    return modules[0]->btl_component->btl_version.mca_component_name;
}

START_TEST(unknown_names_are_errors_that_name_the_known)
{
    ck_assert_int_eq(open_with("self,slef"), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "\"slef\""));
    ck_assert_ptr_nonnull(strstr(reason, "self, sm, tcp"));
    size_t count = 1;
    btl_modules(&count);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(unknown_names_are_errors_in_exclusions_too)
{
    ck_assert_int_eq(open_with("^openib"), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "\"openib\""));
}
END_TEST

START_TEST(a_list_opens_what_it_names)
{
    ck_assert_int_eq(open_with(" self "), ORTE_SUCCESS);
    size_t count;
    btl_modules(&count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(first_name(), "self");
    ck_assert_ptr_eq(btl_host()->ops, &ops);
    btl_close();
    btl_modules(&count);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(btl_progress(), 0);
}
END_TEST

static size_t open_at_close;

static void count_open(void)
{
    (void) btl_modules(&open_at_close);
}

/* The host, which is driven while they end, may ask for them. */
START_TEST(a_module_that_has_ended_is_none_of_those_that_are_open)
{
    open_at_close = 7;
    ck_assert_int_eq(open_with("self"), ORTE_SUCCESS);
    btl_at_close(count_open);
    btl_close();
    ck_assert_uint_eq(open_at_close, 0);
}
END_TEST

START_TEST(an_exclusion_opens_the_rest)
{
    ck_assert_int_eq(open_with("^sm,tcp"), ORTE_SUCCESS);
    size_t count;
    btl_modules(&count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(first_name(), "self");
    btl_close();
}
END_TEST

START_TEST(nothing_to_open_is_an_error)
{
    ck_assert_int_eq(open_with("^self,sm,tcp"), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "^self,sm,tcp"));
}
END_TEST

START_TEST(the_parameters_of_what_is_opened_have_to_fit)
{
    setenv("KEEL_MCA_btl_tcp_links", "many", 1);
    ck_assert_int_eq(open_with("self,tcp"), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "btl_tcp_links = many"));
}
END_TEST

START_TEST(those_of_what_is_not_opened_may_be_anything)
{
    setenv("KEEL_MCA_btl_tcp_links", "many", 1);
    ck_assert_int_eq(open_with("self"), ORTE_SUCCESS);
    btl_close();
}
END_TEST

static int lines;
static char last_line[400];

static void count_line(void *arg, enum log_level level, const char *line)
{
    (void) arg, (void) level;
    lines++;
    strncpy(last_line, line, sizeof(last_line) - 1);
}

static int freed, called, call_status;

static int count_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    (void) btl, (void) descriptor;
    freed++;
    return OPAL_SUCCESS;
}

static void count_call(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    ck_assert_int_eq(freed, 0); /* the descriptor outlives its callback */
    descriptor->des_flags = 0;  /* the caller's to change: it may be another's already */
    called++;
    call_status = status;
}

static struct btl_component component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("test")}}};
static mca_btl_base_module_t module = {.btl_component = &component.component,
                                       .btl_free = count_free};

START_TEST(completion_calls_back_and_frees_what_is_the_modules)
{
    for (uint32_t flags = 0; flags < 8; flags++) {
        for (int callback = 0; callback < 2; callback++) {
            mca_btl_base_descriptor_t descriptor = {.des_flags = flags,
                                                    .des_cbfunc = callback ? count_call : NULL};
            freed = called = 0;
            btl_complete(&module, NULL, &descriptor, OPAL_ERR_UNREACH);
            ck_assert_int_eq(called, callback);
            ck_assert_int_eq(freed, flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP ? 1 : 0);
            ck_assert(!callback || call_status == OPAL_ERR_UNREACH);

            descriptor.des_flags = flags;
            freed = called = 0;
            ck_assert_int_eq(btl_sent(&module, NULL, &descriptor), 1);
            bool wanted = callback && flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
            ck_assert_int_eq(called, wanted);
            ck_assert_int_eq(freed, flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP ? 1 : 0);
            ck_assert(!wanted || call_status == OPAL_SUCCESS);
        }
    }
}
END_TEST

static int received;

static void receive(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *descriptor, void *data)
{
    ck_assert_ptr_eq(btl, &module);
    ck_assert_uint_eq(tag, 255);
    ck_assert_ptr_eq(data, &received);
    ck_assert_ptr_eq(descriptor->des_context, &proc);
    ck_assert_uint_eq(descriptor->des_segment_count, 1);
    ck_assert_uint_eq(descriptor->des_segments[0].seg_len, 3);
    received++;
    btl_register_tag(btl, tag, NULL, NULL);
}

START_TEST(delivery_finds_the_tag_or_drops_with_one_warning)
{
    log_set_sink(count_line, NULL);
    mca_btl_base_segment_t segment = {.seg_addr.pval = (void *) "abc", .seg_len = 3};
    ck_assert_int_eq(btl_register_tag(&module, 255, receive, &received), OPAL_SUCCESS);
    for (int i = 0; i < 5; i++) { /* it removes itself */
        btl_deliver_on(&module, (void *) &proc, 0, 255, &segment, 1);
    }
    ck_assert_int_eq(received, 1);
    ck_assert_int_eq(lines, 1);
    ck_assert_ptr_nonnull(strstr(last_line, "255"));
    log_set_sink(NULL, NULL);
}
END_TEST

START_TEST(tags_end_with_the_framework)
{
    ck_assert_int_eq(open_with("self"), ORTE_SUCCESS);
    ck_assert_int_eq(btl_register_tag(&module, 7, receive, &received), OPAL_SUCCESS);
    btl_close();
    ck_assert(!mca_btl_base_active_message_trigger[7].cbfunc);
}
END_TEST

static char error_text[100];
static int32_t error_flags;
static opal_proc_t *error_proc;

static void on_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *peer, char *text)
{
    (void) btl;
    error_flags = flags;
    error_proc = peer;
    strncpy(error_text, text, sizeof(error_text) - 1);
}

START_TEST(errors_go_to_the_callback_or_the_log)
{
    log_set_sink(count_line, NULL);
    ck_assert_int_eq(open_with("self"), ORTE_SUCCESS);
    size_t count;
    mca_btl_base_module_t *self = btl_modules(&count)[0];
    lines = 0;
    btl_report_error(self, MCA_BTL_ERROR_FLAGS_NONFATAL, &proc, "link %d is lost", 7);
    ck_assert_int_eq(lines, 1);
    ck_assert_ptr_nonnull(strstr(last_line, "link 7 is lost"));
    btl_report_departed(self, &proc, "nothing leads back to it");
    ck_assert_int_eq(lines, 1); /* it left by itself: no warning */
    ck_assert_int_eq(self->btl_register_error(self, on_error), OPAL_SUCCESS);
    btl_report_error(self, MCA_BTL_ERROR_FLAGS_NONFATAL, &proc, "link %d is lost", 8);
    ck_assert_int_eq(lines, 1);
    ck_assert_str_eq(error_text, "link 8 is lost");
    ck_assert_int_eq(error_flags, MCA_BTL_ERROR_FLAGS_NONFATAL);
    ck_assert_ptr_eq(error_proc, &proc);
    btl_report_departed(self, &proc, "link %d is lost", 9);
    ck_assert_str_eq(error_text, "link 9 is lost");
    ck_assert_int_eq(btl_register_error_fn(&module, on_error), OPAL_ERR_NOT_FOUND);
    btl_close();
    log_set_sink(NULL, NULL);
}
END_TEST

UNIT_MAIN("framework")
