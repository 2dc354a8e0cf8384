/* The public calls in a process alone, a job of one: their order, wrong arguments, callbacks, and
 * children made by fork. */
#include <keel/keel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { TAG = 200 };

static orte_process_name_t me;

static void join(void)
{
    unsetenv("KEEL_DAEMON");
    ck_assert_int_eq(keel_init(NULL), ORTE_SUCCESS);
    me = *keel_my_name();
}

static void expect_outside(void)
{
    size_t count = 7;
    void *data;
    ck_assert_int_eq(keel_finalize(), ORTE_ERROR);
    ck_assert_ptr_null(keel_my_name());
    ck_assert_uint_eq(keel_job_size(), 0);
    ck_assert_int_eq(keel_progress(), 0);
    ck_assert_int_eq(keel_fence(), ORTE_ERR_COMM_DISABLED);
    ck_assert_int_eq(keel_modex_send("key", "x", 1), ORTE_ERR_COMM_DISABLED);
    ck_assert_int_eq(keel_modex_recv(&me, "key", &data, &count), ORTE_ERR_COMM_DISABLED);
    ck_assert_ptr_null(keel_rails(&me, &count));
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(keel_proc(&me));
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_ERR_COMM_DISABLED);
}

START_TEST(in_and_out_again)
{
    struct keel_options other = KEEL_OPTIONS_DEFAULT;
    other.size++;
    expect_outside();
    ck_assert_int_eq(keel_init(&other), ORTE_ERR_BAD_PARAM);
    for (int i = 0; i < 3; i++) {
        join();
        ck_assert_int_eq(keel_init(NULL), ORTE_EXISTS);
        ck_assert_uint_eq(keel_job_size(), 1);
        ck_assert_int_eq(keel_finalize(), ORTE_SUCCESS);
        expect_outside();
    }
}
END_TEST

START_TEST(cards)
{
    static char most[(64 << 10) + 1];
    char key[65];
    void *data = &me;
    size_t size = 7;
    memset(key, 'k', 64);
    key[64] = '\0';
    join();
    static const char *const wrong[] = {"", "a b", "\177", "\303\251"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        ck_assert_int_eq(keel_modex_send(wrong[i], "x", 1), ORTE_ERR_BAD_PARAM);
        ck_assert_int_eq(keel_modex_recv(&me, wrong[i], &data, &size), ORTE_ERR_BAD_PARAM);
    }
    ck_assert_int_eq(keel_modex_send(key, "x", 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(keel_modex_recv(&me, key, &data, &size), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(keel_modex_send(NULL, "x", 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(keel_modex_send("none", NULL, 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(keel_modex_send("much", most, sizeof(most)), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(keel_modex_recv(NULL, "a", &data, &size), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(keel_modex_recv(&me, "a", &data, &size), ORTE_ERR_NOT_FOUND);
    ck_assert(data == &me && size == 7);
    key[63] = '\0';
    ck_assert_int_eq(keel_modex_send(key, most, sizeof(most) - 1), ORTE_SUCCESS);
    ck_assert_int_eq(keel_modex_send(key, "x", 1), ORTE_EXISTS);
    ck_assert_int_eq(keel_fence(), ORTE_SUCCESS);
    ck_assert_int_eq(keel_modex_send(key, "x", 1), ORTE_EXISTS);
    ck_assert_int_eq(keel_modex_recv(&me, key, &data, &size), ORTE_SUCCESS);
    ck_assert_uint_eq(size, sizeof(most) - 1);
    free(data);
    ck_assert_int_eq(keel_finalize(), ORTE_SUCCESS);
}
END_TEST

START_TEST(nobody_beyond_the_job)
{
    char byte = 1;
    struct iovec part = {&byte, 1};
    size_t count;
    join();
    orte_process_name_t next = {me.jobid, 1}, other = {me.jobid + 1, 0};
    ck_assert_int_eq(orte_rml.send(&next, &part, 1, TAG, 0), ORTE_ERR_ADDRESSEE_UNKNOWN);
    ck_assert_int_eq(orte_rml.send(&other, &part, 1, TAG, 0), ORTE_ERR_ADDRESSEE_UNKNOWN);
    ck_assert_ptr_null(keel_rails(&next, &count));
    ck_assert_ptr_null(keel_proc(&other));
    ck_assert_int_eq(keel_finalize(), ORTE_SUCCESS);
}
END_TEST

static void leave(int status, orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                  void *cbdata)
{
    (void) status;
    (void) peer;
    (void) buffer;
    (void) tag;
    *(int *) cbdata = keel_finalize();
}

START_TEST(no_end_inside_a_callback)
{
    int got = 77;
    struct iovec part = {&got, 0};
    join();
    ck_assert_int_eq(orte_rml.recv_buffer_nb(&me, TAG, 0, leave, &got), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.send(&me, &part, 1, TAG, 0), 0);
    while (got == 77) {
        keel_progress();
    }
    ck_assert_int_eq(got, ORTE_ERR_NOT_SUPPORTED);
    ck_assert_int_eq(keel_fence(), ORTE_SUCCESS);
    ck_assert_int_eq(keel_finalize(), ORTE_SUCCESS);
}
END_TEST

static int status_of_child(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(a_child_is_outside)
{
    join();
    pid_t child = fork();
    if (child == 0) {
        expect_outside();
        keel_abort(9, "the child alone");
    }
    ck_assert_int_eq(status_of_child(child), 9);
    ck_assert_int_eq(keel_fence(), ORTE_SUCCESS);
    ck_assert_int_eq(keel_finalize(), ORTE_SUCCESS);
}
END_TEST

/* Never 0, whatever of the status the system keeps. */
START_TEST(abort_codes)
{
    static const int codes[][2] = {{0, 1}, {3, 3}, {256, 1}, {259, 3}, {-1, 255}};
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        pid_t child = fork();
        if (child == 0) {
            join();
            keel_abort(codes[i][0], "%s", "asked for");
        }
        ck_assert_int_eq(status_of_child(child), codes[i][1]);
    }
}
END_TEST

UNIT_MAIN("bootstrap/alone")
