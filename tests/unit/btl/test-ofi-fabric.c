/* What opening a provider does to the process that opens it. */
#include <config.h>

#include <tests/lib/unit.h>

#include <btl/ofi/ofi_fabric.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const struct ofi_wanted tcp = {
    .provider = "tcp;ofi_rxm",
    .domain = "",
    .address = "127.0.0.1",
    .receives = 1,
};

static void on_signal(int number)
{
    (void) number;
}

static void open_tcp(struct ofi_fabric *fabric)
{
    char reason[300] = "";

    memset(fabric, 0, sizeof(*fabric));
    int status = ofi_fabric_open(fabric, &tcp, reason, sizeof(reason));
    ck_assert_msg(status == ORTE_SUCCESS, "%s", reason);
}

/* The libraries below libfabric would have them for backtraces. */
START_TEST(signals_stay_the_applications)
{
    static const int handled[] = {SIGTERM, SIGINT}, left[] = {SIGABRT, SIGILL, SIGBUS};
    struct ofi_fabric fabric;
    struct sigaction action;

    for (size_t i = 0; i < 2; i++) {
        ck_assert(signal(handled[i], on_signal) != SIG_ERR);
    }
    struct sigaction before[3];
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(sigaction(left[i], NULL, &before[i]), 0);
    }
    open_tcp(&fabric);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(sigaction(handled[i], NULL, &action), 0);
        ck_assert(action.sa_handler == on_signal);
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(sigaction(left[i], NULL, &action), 0);
        ck_assert(action.sa_handler == before[i].sa_handler);
    }
    ofi_fabric_close(&fabric);
}
END_TEST

START_TEST(the_environment_is_as_before)
{
    static const char *const names[] = {"FI_PROVIDER", "IPATH_NO_BACKTRACE"};
    struct ofi_fabric fabric;
    cpu_set_t before, after;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
    for (size_t i = 0; i < 2; i++) {
        if (_i == 1) {
            setenv(names[i], i == 0 ? "tcp,ofi_rxm" : "yes", 1);
        } else {
            unsetenv(names[i]);
        }
    }
    open_tcp(&fabric);
    ofi_fabric_close(&fabric);
    if (_i == 1) {
        ck_assert_str_eq(getenv(names[0]), "tcp,ofi_rxm");
        ck_assert_str_eq(getenv(names[1]), "yes");
    } else {
        ck_assert(!getenv(names[0]) && !getenv(names[1]));
    }
    ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
    ck_assert(CPU_EQUAL(&before, &after));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ofi-fabric");
    TCase *tcase = tcase_create("ofi-fabric");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, signals_stay_the_applications);
    tcase_add_loop_test(tcase, the_environment_is_as_before, 0, 2);
    return unit_main(suite);
}
