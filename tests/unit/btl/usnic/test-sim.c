/* Sessions over a bad network in virtual time: many schedules, each made from a seed. SIM_SEED=n
 * runs that one, SIM_COUNT=n or an argument so many, from SIM_SEED on if that is set too; with
 * sanitizers, a tenth of that. */
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/usnic/schedule.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SCHEDULES = 10000, SLOWER = 10 };
#else
enum { SCHEDULES = 100000, SLOWER = 1 };
#endif

enum { CASE_S = 300, LIMIT_S = 7200 }; /* the latter of a count that was given */
enum { FEW = 5000 };                   /* schedules in which a sabotage shows */

START_TEST(messages_arrive_once_and_in_order)
{
    const char *chosen = getenv("SIM_SEED"), *many = getenv("SIM_COUNT");
    uint64_t first = chosen ? strtoull(chosen, NULL, 0) : 1;
    uint64_t wanted = many ? strtoull(many, NULL, 0) / SLOWER : SCHEDULES;
    uint64_t count = chosen && !many ? 1 : wanted;
    struct sim_totals sum = {0};

    for (uint64_t seed = first; seed < first + count; seed++) {
        const char *broken = schedule_run(seed, &sum);
        ck_assert_msg(!broken, "SIM_SEED=%llu: %s", (unsigned long long) seed, broken);
    }
#define N(what) (unsigned long long) sum.what
    printf("# %llu schedules: %llu events, %llu messages, %llu packets, %llu lost, %llu resends "
           "(%llu probes, %llu needless), %llu duplicates, %llu early, %llu of old sessions, "
           "%llu sessions failed, %llu opened again, %llu sides left, %llu of them unanswered\n",
           (unsigned long long) count, N(events), N(messages), N(packets), N(lost), N(resends),
           N(probes), N(spurious), N(duplicates), N(early), N(stale), N(failed), N(reopened),
           N(ended), N(alone));
}
END_TEST

/* Sessions without this part do not hold, in a schedule in which they do with it. */
static void must_fail(enum sim_sabotage sabotage)
{
    const char *broken = NULL;

    for (uint64_t seed = 1; !broken && seed <= FEW; seed++) {
        sim_sabotage = sabotage;
        broken = schedule_run(seed, NULL);
        sim_sabotage = SIM_SOUND;
        if (broken && schedule_run(seed, NULL)) {
            broken = NULL;
        }
        if (broken) {
            printf("# fails with SIM_SEED=%llu: %s\n", (unsigned long long) seed, broken);
        }
    }
    ck_assert(broken);
}

UNIT_CASE(fails_with_packets_that_are_taken_twice, must_fail(SIM_NO_DEDUP))
UNIT_CASE(fails_with_packets_of_old_sessions, must_fail(SIM_NO_EPOCH))
UNIT_CASE(fails_with_acknowledgements_of_the_unseen, must_fail(SIM_ACK_UNSEEN))
UNIT_CASE(fails_with_early_delivery, must_fail(SIM_EARLY_DELIVERY))
UNIT_CASE(fails_with_numbers_that_do_not_wrap, must_fail(SIM_NO_WRAP))
UNIT_CASE(fails_if_a_bye_is_answered_amid_what_is_queued, must_fail(SIM_EARLY_OVER))
UNIT_CASE(fails_if_a_half_open_session_is_not_given_up, must_fail(SIM_NO_GIVING_UP))
UNIT_CASE(fails_with_a_hotel_that_never_evicts, must_fail(SIM_NO_EVICTION))

int main(int argc, char **argv)
{
    if (argc > 1) {
        setenv("SIM_COUNT", argv[1], 1);
    }
    return unit_run("usnic-sim", getenv("SIM_COUNT") ? LIMIT_S : CASE_S);
}
