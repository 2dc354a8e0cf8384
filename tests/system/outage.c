/* outage cut: rank 0 sends to rank 1 without end; both print when their rail to the other is lost,
 * in milliseconds since 1970, meet in a fence, and return 7. outage return: ranks 0 and 1 send to
 * each other over their best rail, and print its name and the time whenever it has become another,
 * until it is the first one again. Code 0. outage share: ranks 0 and 1 send to each other over all
 * their rails in turn. Once something has come over each, they print how many there are and the
 * time, and again whenever that changes, until there are as many again as at first. Code 0. outage
 * full SECONDS: rank 0 sends for so long all that its rails take; rank 1 computes meanwhile, and
 * rank 2 prints its pid, to be stopped from outside. Code 0: all has arrived. */
#include <keel/keel.h>

#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DATA = 70, LAST, RANKS = 3, MODULES = 8 };

static char text[4096];
static unsigned long sent[RANKS], received, expected;
static const mca_btl_base_module_t *heard[MODULES]; /* modules that messages have come over */
static size_t heard_count;
static bool lost, all_here, shares;
static const char *first, *best; /* names of rails */

static void nap(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Not by spinning: the machine has others. */
static void progress(void)
{
    if (keel_progress() == 0) {
        nap(1);
    }
}

static void note_heard(const mca_btl_base_module_t *btl)
{
    size_t i = 0;
    while (i < heard_count && heard[i] != btl) {
        i++;
    }
    if (i == heard_count && i < MODULES) {
        heard[heard_count++] = btl;
    }
}

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) data;
    note_heard(btl);
    if (tag == LAST) {
        memcpy(&expected, descriptor->des_segments->seg_addr.pval, sizeof(expected));
        all_here = true;
    } else {
        received++;
    }
}

static void changed(const orte_process_name_t *peer, void *arg)
{
    size_t count;
    (void) arg;
    const struct keel_rail *rails = keel_rails(peer, &count);
    if (shares) {
        printf("rank %u: %zu at %llu\n", keel_my_name()->vpid, count,
               (unsigned long long) now_ms());
        fflush(stdout);
    } else if (first) {
        best = count > 0 ? rails->btl->btl_component->btl_version.mca_component_name : "none";
        printf("rank %u: %s at %llu\n", keel_my_name()->vpid, best, (unsigned long long) now_ms());
        fflush(stdout);
    } else if (count == 0) {
        printf("rank %u lost rank %u at %llu\n", keel_my_name()->vpid, peer->vpid,
               (unsigned long long) now_ms());
        fflush(stdout);
        lost = true;
    }
}

static const struct keel_rail *rail_to(uint32_t rank)
{
    orte_process_name_t peer = {keel_my_name()->jobid, rank};
    size_t count;
    const struct keel_rail *rails = keel_rails(&peer, &count);
    if (count == 0) {
        keel_abort(3, "no rail to rank %u", rank);
    }
    return rails;
}

static bool send_over(const struct keel_rail *rail, mca_btl_base_tag_t tag, void *data, size_t size)
{
    return rail->btl->btl_sendi(rail->btl, rail->endpoint, NULL, data, size, 0, MCA_BTL_NO_ORDER,
                                MCA_BTL_DES_FLAGS_BTL_OWNERSHIP, tag, NULL) == OPAL_SUCCESS;
}

static bool send_one(uint32_t rank, mca_btl_base_tag_t tag, void *data, size_t size)
{
    return send_over(rail_to(rank), tag, data, size);
}

static int cut(uint32_t me)
{
    bool said = false;
    while (!lost) {
        received += me == 0 && send_one(1, DATA, text, sizeof(text));
        progress();
        if (received > 0 && !said) {
            printf("rank %u is ready\n", me);
            fflush(stdout);
            said = true;
        }
    }
    return keel_fence() == ORTE_SUCCESS ? 7 : 2;
}

static bool send_over_best(uint32_t rank)
{
    orte_process_name_t peer = {keel_my_name()->jobid, rank};
    size_t count;
    (void) keel_rails(&peer, &count);
    return count > 0 && send_one(rank, DATA, text, sizeof(text));
}

/* Both stay until both have their rail back. */
static int wait_for_return(uint32_t me)
{
    orte_process_name_t peer = {keel_my_name()->jobid, 1 - me};
    while (!send_over_best(1 - me) || received == 0) {
        progress();
    }
    first = best = rail_to(1 - me)->btl->btl_component->btl_version.mca_component_name;
    changed(&peer, NULL);
    bool left = false;
    while (!left || best != first) {
        (void) send_over_best(1 - me);
        progress();
        left = left || best != first;
    }
    for (bool said = false; !said || !all_here; progress()) { /* the peer says that it is there */
        said = said || send_one(1 - me, LAST, &received, sizeof(received));
    }
    return keel_fence() == ORTE_SUCCESS ? 0 : 2;
}

/* Returns how many rails there are. */
static size_t send_over_all(const orte_process_name_t *peer)
{
    size_t count;
    const struct keel_rail *rails = keel_rails(peer, &count);
    for (size_t i = 0; i < count; i++) {
        (void) send_over(&rails[i], DATA, text, sizeof(text));
    }
    progress();
    return count;
}

static int share(uint32_t me)
{
    orte_process_name_t peer = {keel_my_name()->jobid, 1 - me};
    size_t all = send_over_all(&peer), now = all;
    while (heard_count < all) {
        (void) send_over_all(&peer);
    }
    shares = true;
    changed(&peer, NULL);
    for (bool left = false; !left || now < all; left = left || now < all) {
        now = send_over_all(&peer);
    }
    while (!send_one(1 - me, LAST, &received, sizeof(received)) || !all_here) {
        progress();
    }
    return keel_fence() == ORTE_SUCCESS ? 0 : 2;
}

static void flood(uint64_t ms)
{
    uint64_t end = now_ms() + ms;
    while (now_ms() < end) {
        bool some = false;
        for (uint32_t rank = 1; rank < RANKS; rank++) {
            bool one = send_one(rank, DATA, text, sizeof(text));
            sent[rank] += one;
            some = some || one;
        }
        if (!some) {
            progress();
        }
    }
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        while (!send_one(rank, LAST, &sent[rank], sizeof(sent[rank]))) {
            progress();
        }
    }
    printf("%lu and %lu messages\n", sent[1], sent[2]);
}

static int full(uint32_t me, uint64_t ms)
{
    if (me == 0) {
        flood(ms);
        return 0;
    }
    if (me == 1) {
        nap((long) ms);
    } else {
        printf("pid %d\n", (int) getpid());
        fflush(stdout);
    }
    while (!all_here) {
        progress();
    }
    if (received != expected) {
        keel_abort(4, "%lu messages of %lu came", received, expected);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || keel_init(NULL) != ORTE_SUCCESS ||
        keel_rails_watch(changed, NULL) != ORTE_SUCCESS) {
        return 2;
    }
    uint32_t me = keel_my_name()->vpid;
    const struct keel_rail *rail = rail_to(me == 0 ? 1 : 0);
    rail->btl->btl_register(rail->btl, DATA, take, NULL);
    rail->btl->btl_register(rail->btl, LAST, take, NULL);
    if (keel_fence() != ORTE_SUCCESS) {
        return 2;
    }
    int code = argc > 2                         ? full(me, strtoull(argv[2], NULL, 10) * 1000)
               : strcmp(argv[1], "return") == 0 ? wait_for_return(me)
               : strcmp(argv[1], "share") == 0  ? share(me)
                                                : cut(me);
    return keel_finalize() == ORTE_SUCCESS ? code : 4;
}
