/* What an empty pass of keel_progress costs rank 0 beside peers: `keelrun -n N passes met` after
 * each of them has sent it a message and had one back, `strangers` before. They sleep meanwhile.
 * Prints the median of batches, in nanoseconds. `passes sendi COUNT`, alone, sends itself so many
 * messages, for bench/pairs to count instructions. */
#include <keel/keel.h>

#include <bench/series.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 9, BATCH = 2000, BATCHES = 100, NAP_NS = 2000000 };

static unsigned arrived;

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) btl, (void) tag, (void) descriptor, (void) data;
    arrived++;
}

static void say(uint32_t rank, int times)
{
    orte_process_name_t peer = {keel_my_name()->jobid, rank};
    size_t count;
    const struct keel_rail *rail = keel_rails(&peer, &count);
    char word[] = "hello";
    if (!rail) {
        keel_abort(1, "passes: no rail to rank %u", rank);
    }
    for (int i = 0; i < times; i++) {
        while (rail->btl->btl_sendi(rail->btl, rail->endpoint, NULL, word, sizeof(word), 0,
                                    MCA_BTL_NO_ORDER, 0, TAG, NULL) != OPAL_SUCCESS) {
            keel_progress();
        }
    }
}

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec * 1e9 + (double) time.tv_nsec;
}

static void hear(unsigned count, long nap_ns)
{
    while (arrived < count) {
        if (keel_progress() == 0 && nap_ns > 0) {
            nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
        }
    }
}

static double measure(void)
{
    struct series series = {.count = 0};
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = now_ns();
        for (int i = 0; i < BATCH; i++) {
            keel_progress();
        }
        series_add(&series, (now_ns() - begin) / BATCH);
    }
    double median = series_median(&series);
    series_fini(&series);
    return median;
}

int main(int argc, char **argv)
{
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    uint32_t me = keel_my_name()->vpid, size = keel_job_size();
    bool met = argc > 1 && strcmp(argv[1], "met") == 0;
    orte_process_name_t first = {keel_my_name()->jobid, 0};
    size_t count;
    const struct keel_rail *rail = keel_rails(&first, &count);
    rail->btl->btl_register(rail->btl, TAG, take, NULL);
    if (keel_fence() != ORTE_SUCCESS) {
        return 1;
    }
    if (argc > 2 && strcmp(argv[1], "sendi") == 0) {
        say(0, atoi(argv[2]));
    } else if (me > 0) {
        if (met) {
            say(0, 1);
        }
        hear(met ? 2 : 1, NAP_NS);
    } else {
        hear(met ? size - 1 : 0, 0);
        for (uint32_t rank = 1; met && rank < size; rank++) {
            say(rank, 1);
        }
        for (int i = 0; i < BATCH; i++) { /* the answers leave, and everybody falls asleep */
            keel_progress();
        }
        printf("%.2f\n", measure());
        for (uint32_t rank = 1; rank < size; rank++) {
            say(rank, 1);
        }
    }
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
