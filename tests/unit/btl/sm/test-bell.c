#include <tests/lib/unit.h>

#include <btl/sm/segment/bell.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static bool rung(const struct sm_bell *bell)
{
    struct pollfd polled = {.fd = sm_bell_fd(bell), .events = POLLIN};
    return poll(&polled, 1, 0) == 1;
}

static struct sm_ringer ringer_of(const struct sm_alarm *alarm)
{
    struct sm_ringer ringer;
    sm_ringer_init(&ringer, alarm, (uint32_t) getpid());
    return ringer;
}

START_TEST(who_never_sleeps_has_no_bell)
{
    struct sm_bell bell = {0};
    ck_assert_int_eq(sm_bell_fd(&bell), ORTE_ERR_NOT_SUPPORTED);
    sm_bell_close(&bell);
    ck_assert_int_eq(sm_bell_fd(&bell), ORTE_ERR_NOT_SUPPORTED);
}
END_TEST

START_TEST(each_sender_rings_once_for_each_sleep)
{
    struct sm_alarm alarm = {0};
    struct sm_bell bell;
    ck_assert_int_eq(sm_bell_open(&bell, &alarm, false), ORTE_SUCCESS);
    ck_assert_uint_eq(atomic_load(&alarm.sleeps), 0);
    struct sm_ringer a = ringer_of(&alarm), b = ringer_of(&alarm);
    for (int sleep = 0; sleep < 3; sleep++) {
        sm_bell_quiet(&bell);
        ck_assert_int_eq(sm_bell_sleep(&bell), ORTE_SUCCESS);
        ck_assert(!rung(&bell));
        for (int message = 0; message < 5; message++) {
            sm_ringer_ring(&a);
            sm_ringer_ring(&b);
        }
        char bytes[16];
        ck_assert_int_eq(read(sm_bell_fd(&bell), bytes, sizeof(bytes)), 2);
        ck_assert(!rung(&bell));
    }
    sm_ringer_fini(&a);
    sm_ringer_fini(&b);
    sm_bell_close(&bell);
}
END_TEST

START_TEST(the_count_skips_never)
{
    struct sm_alarm alarm = {0};
    struct sm_bell bell;
    ck_assert_int_eq(sm_bell_open(&bell, &alarm, false), ORTE_SUCCESS);
    atomic_store(&alarm.sleeps, UINT32_MAX);
    ck_assert_int_eq(sm_bell_sleep(&bell), ORTE_SUCCESS);
    ck_assert_uint_eq(atomic_load(&alarm.sleeps), 1);
    sm_bell_close(&bell);
}
END_TEST

START_TEST(a_full_pipe_has_been_rung)
{
    struct sm_alarm alarm = {0};
    struct sm_bell bell;
    ck_assert_int_eq(sm_bell_open(&bell, &alarm, false), ORTE_SUCCESS);
    char bytes[4096] = {0};
    while (write(bell.ends[1], bytes, sizeof(bytes)) > 0) {
    }
    while (write(bell.ends[1], bytes, 1) > 0) {
    }
    struct sm_ringer ringer = ringer_of(&alarm);
    ck_assert_int_eq(sm_bell_sleep(&bell), ORTE_SUCCESS);
    sm_ringer_ring(&ringer);
    ck_assert_uint_eq(ringer.rung, atomic_load(&alarm.sleeps));
    sm_bell_quiet(&bell);
    ck_assert(!rung(&bell));
    sm_ringer_fini(&ringer);
    sm_bell_close(&bell);
}
END_TEST

/* The owner's descriptors end with it; a peer that rings on is not ended by a signal. */
START_TEST(a_bell_whose_owner_is_gone_rings_for_nobody)
{
    struct sm_alarm alarm = {0};
    struct sm_bell bell;
    ck_assert_int_eq(sm_bell_open(&bell, &alarm, false), ORTE_SUCCESS);
    struct sm_ringer early = ringer_of(&alarm), late = ringer_of(&alarm);
    ck_assert_int_eq(sm_bell_sleep(&bell), ORTE_SUCCESS);
    sm_ringer_ring(&early);
    sm_bell_close(&bell);
    atomic_fetch_add(&alarm.sleeps, 1);
    sm_ringer_ring(&early);
    sm_ringer_ring(&late);
    ck_assert_int_eq(late.fd, -1);
    sm_ringer_fini(&early);
}
END_TEST

/* What a hostile peer may tell in its alarm. */
START_TEST(what_is_not_that_pipe_is_left_alone)
{
    struct stat file, other;
    int ends[2], plain = open("/dev/null", O_RDWR);
    ck_assert(plain >= 0 && fstat(plain, &file) == 0);
    ck_assert(pipe(ends) == 0 && fstat(ends[0], &other) == 0);
    const struct sm_alarm lies[] = {
        {.sleeps = 1, .fd = (uint32_t) plain, .inode = file.st_ino},
        {.sleeps = 1, .fd = (uint32_t) ends[1], .inode = other.st_ino + 1},
        {.sleeps = 1, .fd = 100000, .inode = other.st_ino},
        {.sleeps = 1, .fd = UINT32_MAX, .inode = UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        struct sm_ringer ringer = ringer_of(&lies[i]);
        sm_ringer_ring(&ringer);
        ck_assert_int_eq(ringer.fd, -1);
        ck_assert_uint_eq(ringer.rung, 0);
    }
}
END_TEST

#define MESSAGES 100000

struct pair {
    struct sm_alarm alarm;
    struct sm_bell bell;
    atomic_uint published;
};

/* As sm's sends do. */
static void *publish(void *arg)
{
    struct pair *pair = arg;
    struct sm_ringer ringer = ringer_of(&pair->alarm);
    uint32_t hush = sm_ringer_hush(&ringer);
    for (unsigned i = 1; i <= MESSAGES; i++) {
        atomic_store_explicit(&pair->published, i, memory_order_release);
        if (sm_hush_ends(sm_ringer_word(&ringer), hush)) {
            sm_ringer_ring(&ringer);
            hush = sm_ringer_hush(&ringer);
        }
    }
    sm_ringer_fini(&ringer);
    return NULL;
}

/* Whoever sleeps without having seen the last message is woken. */
static void sleep_and_publish(bool fences)
{
    static struct pair pair;
    pthread_t sender;
    unsigned seen = 0;
    ck_assert_int_eq(sm_bell_open(&pair.bell, &pair.alarm, true), ORTE_SUCCESS);
    pair.alarm.fences = fences;
    ck_assert_int_eq(pthread_create(&sender, NULL, publish, &pair), 0);
    while (seen < MESSAGES) {
        struct pollfd polled = {.fd = sm_bell_fd(&pair.bell), .events = POLLIN};
        sm_bell_quiet(&pair.bell);
        ck_assert_int_eq(sm_bell_sleep(&pair.bell), ORTE_SUCCESS);
        unsigned now = atomic_load_explicit(&pair.published, memory_order_acquire);
        if (now == seen) {
            ck_assert_int_eq(poll(&polled, 1, 20000), 1);
        }
        seen = now;
    }
    ck_assert_int_eq(pthread_join(sender, NULL), 0);
    sm_bell_close(&pair.bell);
}

UNIT_CASE(no_message_is_slept_through, sleep_and_publish(false))
UNIT_CASE(nor_by_the_barriers_of_senders, sleep_and_publish(true))

/* Who rings for nobody looks at one word of the owner's. */
START_TEST(all_is_hushed_until_somebody_sleeps)
{
    struct sm_alarm alarm = {0};
    struct sm_bell bell;
    ck_assert_int_eq(sm_bell_open(&bell, &alarm, false), ORTE_SUCCESS);
    struct sm_ringer ringer = ringer_of(&alarm);
    uint32_t hush = sm_ringer_hush(&ringer);
    ck_assert_ptr_eq(sm_ringer_word(&ringer), &alarm.sleeps);
    ck_assert(!sm_hush_ends(sm_ringer_word(&ringer), hush));
    ck_assert_int_eq(sm_bell_sleep(&bell), ORTE_SUCCESS);
    ck_assert(sm_hush_ends(sm_ringer_word(&ringer), hush));
    sm_ringer_ring(&ringer);
    hush = sm_ringer_hush(&ringer);
    ck_assert(!sm_hush_ends(sm_ringer_word(&ringer), hush));
    sm_ringer_fini(&ringer);
    sm_bell_close(&bell);
}
END_TEST

UNIT_MAIN("sm bell")
