/* Ranks that sleep in calls that wait. Usage: asleep waits MS MOST | wakes COUNT
 *
 *   waits   rank 0 waits for a message that rank 1 sends after MS milliseconds: it uses little of
 * the processor, and goes to sleep at most MOST times; 0: however often wakes   each rank gets
 * COUNT messages from the one before it, and passes them on, short and long ones after pauses of
 * all lengths; who sleeps through one sleeps for ever
 *
 * Each rank prints "rank N: MODE: ok", or says what is wrong and ends the job. */
#include "must.h"

#include <keel/keel.h>
#include <keel/pml.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { TAG = 7, LONGEST = 200000, PAUSE_US = 60 };

static int32_t me, ranks;
static struct keel_pml_context *context;

static void sleep_us(long us)
{
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec * 1e6 + (double) time.tv_nsec * 1e-3;
}

static void put(int32_t rank)
{
    must(keel_pml_send(context, NULL, rank, TAG, KEEL_PML_STANDARD) == OPAL_SUCCESS);
}

static void get(int32_t rank)
{
    must(keel_pml_recv(context, NULL, rank, TAG, NULL) == OPAL_SUCCESS);
}

/* ---- waits ---- */

static double busy_ms(const struct rusage *usage)
{
    return (double) (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e3 +
           (double) (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e-3;
}

/* Milliseconds of processor time that it took. */
static double wait_long(long ms, long most)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    get(1);
    getrusage(RUSAGE_SELF, &after);
    put(1);
    const double used = busy_ms(&after) - busy_ms(&before);
    const long sleeps = after.ru_nvcsw - before.ru_nvcsw;
    printf("%.1f ms of processor time in %ld ms, asleep %ld times\n", used, ms, sleeps);
    must(most == 0 || sleeps <= most);
    return used;
}

static void waits(char **words)
{
    const long ms = atol(words[0]), most = atol(words[1]);
    double least = (double) ms; /* a busy machine makes the same work take longer */
    for (int round = 0; round < 4; round++) {
        must(keel_fence() == ORTE_SUCCESS);
        if (me == 0) {
            const double used = wait_long(ms, most);
            least = used < least ? used : least;
        } else if (me == 1) {
            sleep_us(ms * 1000);
            const double begin = now_us();
            put(0);
            get(0);
            printf("woken and answered in %.0f us\n", now_us() - begin);
        }
    }
    must(me != 0 || least < (double) ms / 10);
}

/* ---- wakes ---- */

/* Most are short, some travel in fragments, some are fetched. */
static size_t size_of(unsigned long number)
{
    return number % 64 == 63 ? LONGEST : number % 16 == 15 ? 20000 : number % 100;
}

/* Longer and shorter than it takes to fall asleep. */
static void pause_a_bit(unsigned *seed)
{
    const double until = now_us() + rand_r(seed) % PAUSE_US;
    while (now_us() < until) {
    }
}

static void pass_on(unsigned char *bytes, unsigned long number)
{
    opal_convertor_t data;
    memset(bytes, (int) (number % 251), size_of(number));
    opal_convertor_prepare(&data, bytes, size_of(number));
    must(keel_pml_send(context, &data, (me + 1) % ranks, TAG, KEEL_PML_STANDARD) == OPAL_SUCCESS);
}

static void take(unsigned char *bytes, unsigned long number)
{
    const size_t size = size_of(number);
    struct keel_pml_status status;
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, LONGEST);
    must(keel_pml_recv(context, &data, (me + ranks - 1) % ranks, TAG, &status) == OPAL_SUCCESS);
    must(status.bytes == size);
    must(size == 0 || (bytes[0] == number % 251 && memcmp(bytes, bytes + 1, size - 1) == 0));
}

static void wakes(char **words)
{
    const unsigned long count = strtoul(words[0], NULL, 10);
    unsigned char *bytes = calloc(1, LONGEST);
    unsigned seed = (unsigned) me + 1;
    must(bytes);
    for (unsigned long number = 0; number < count; number++) {
        if (me == 0) {
            pause_a_bit(&seed);
            pass_on(bytes, number);
        }
        take(bytes, number);
        if (me != 0) {
            pause_a_bit(&seed);
            pass_on(bytes, number);
        }
    }
    free(bytes);
}

static const struct mode {
    const char *name;
    int words;
    void (*run)(char **words);
} modes[] = {{"waits", 2, waits}, {"wakes", 1, wakes}};

static const struct mode *mode_of(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        if (argc > 1 && argc == 2 + modes[i].words && strcmp(argv[1], modes[i].name) == 0) {
            return &modes[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct mode *mode = mode_of(argc, argv);
    if (!mode || keel_init(NULL) != ORTE_SUCCESS) {
        return 2;
    }
    me = (int32_t) keel_my_name()->vpid;
    ranks = (int32_t) keel_job_size();
    must(keel_pml_context_open(0, NULL, (size_t) ranks, me, &context) == OPAL_SUCCESS);
    mode->run(argv + 2);
    must(keel_pml_context_free(&context) == OPAL_SUCCESS);
    printf("rank %d: %s: ok\n", (int) me, mode->name);
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
