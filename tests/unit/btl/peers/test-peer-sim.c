/* The life of peers in simulated processes: many schedules, each made from a seed. SIM_SEED=n runs
 * that one and logs what happens, SIM_COUNT=n or an argument so many. */
#include <base/settings/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/sim/peers.h>
#include <tests/lib/unit.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SCHEDULES = 200 };
#else
enum { SCHEDULES = 20000 };
#endif

enum { LIMIT_S = 600 }; /* of a count that was given */

static void unheard(void *arg, enum log_level level, const char *line)
{
    (void) arg, (void) level, (void) line;
}

START_TEST(peers_agree_in_the_end_and_nothing_calls_back_twice)
{
    const char *chosen = getenv("SIM_SEED"), *many = getenv("SIM_COUNT");
    uint64_t first = chosen ? strtoull(chosen, NULL, 0) : 1;
    uint64_t count = many ? strtoull(many, NULL, 0) : chosen ? 1 : SCHEDULES;
    unsigned long long events = 0, messages = 0, failed = 0, faults = 0, sessions = 0;
    struct sim_peers_report report;
    if (!chosen) {
        log_set_sink(unheard, NULL);
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        sim_peers_run(seed, &report);
        ck_assert_msg(report.held, "SIM_SEED=%llu: %s", (unsigned long long) seed, report.reason);
        events += report.events;
        messages += report.messages;
        failed += report.failed;
        faults += report.faults;
        sessions += report.sessions;
    }
    printf(
        "# %llu schedules: %llu events, %llu messages, %llu failed, %llu faults, %llu sessions\n",
        (unsigned long long) count, events, messages, failed, faults, sessions);
}
END_TEST

UNIT_MAIN_COUNTED("peer-sim", LIMIT_S)
