/* Leaving the sm module: peers that are dropped, and what is there until nobody reads it. */
#include <config.h>

#include <tests/unit/btl/sm/rank.h>

#include <base/settings/param.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

static int drop_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    sm_rank_start(&rank, host);
    if (host->rank == 0) {
        while (rank.received[1] == 0) {
            sm_rank_progress();
        }
        unsigned received = rank.received[1];
        sm_rank_drop(&rank, 1);
        for (int i = 0; i < 2000; i++) {
            sm_rank_progress();
        }
        must(rank.received[1] == received && rank.errors[1] == 0);
    } else {
        int status = 0;
        for (uint32_t number = 0; status != ORTE_ERR_UNREACH; number++) {
            sm_rank_try_send(&rank, 0, number, 3000, NULL, NULL, &status);
            sm_rank_progress();
        }
    }
    sm_rank_wait_all();
    btl_close();
    return 0;
}

START_TEST(a_sender_that_is_dropped_hears_of_it)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    sm_ranks_run(&options, drop_run, NULL);
}
END_TEST

/* Who was deleted and added again hears what comes after that, though its peer has done nothing. */
static int again_run(struct minihost *host, void *answers)
{
    struct sm_rank rank;
    sm_rank_start(&rank, host);
    for (uint32_t round = 0; round < 3; round++) {
        if (host->rank == 1) {
            sm_rank_send(&rank, 0, round, 8);
        }
        while (host->rank == 0 && rank.received[1] == round) {
            sm_rank_progress();
        }
        if (host->rank == 0 && answers) {
            sm_rank_send(&rank, 1, round, 8);
        }
        while (host->rank == 1 && answers && rank.received[0] == round) {
            sm_rank_progress();
        }
        sm_rank_wait_all();
        if (host->rank == 0) {
            sm_rank_drop(&rank, 1);
            opal_proc_t *proc = &host->procs[1];
            must(rank.btl->btl_add_procs(rank.btl, 1, &proc, &rank.endpoints[1], NULL) ==
                 OPAL_SUCCESS);
        }
        sm_rank_wait_all();
        sm_rank_progress(); /* hears of it */
    }
    must(rank.errors[0] == 0 && rank.errors[1] == 0);
    sm_rank_wait_all();
    btl_close();
    return 0;
}

UNIT_LOOP(one_that_is_added_again_is_heard, 0, 2)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    static bool answers = true;
    sm_ranks_run(&options, again_run, _i == 1 ? &answers : NULL);
}
END_TEST

/* A process that goes on without its module is no silent peer. */
static int closed_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    int status;
    sm_rank_start(&rank, host);
    if (host->rank == 1) {
        sm_rank_send(&rank, 0, 0, 8);
    }
    while (host->rank == 0 && rank.received[1] == 0) {
        sm_rank_progress();
    }
    sm_rank_wait_all();
    if (host->rank == 0) {
        btl_close();
    }
    minihost_barrier(host, NULL);
    while (host->rank == 1 && rank.errors[0] == 0) {
        sm_rank_progress();
        sm_rank_try_send(&rank, 0, 1, 3000, NULL, NULL, &status);
    }
    minihost_barrier(host, NULL);
    if (host->rank == 1) {
        btl_close();
    }
    return 0;
}

START_TEST(one_that_has_closed_fails_with_the_next_message)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    sm_ranks_run(&options, closed_run, NULL);
}
END_TEST

/* What a peer has taken before it left has arrived, though its sender looks only then. */
static int taken_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    struct sm_stream stream = {0};
    int status;
    sm_rank_start(&rank, host);
    sm_rank_wait_all();
    if (host->rank == 1) {
        while (stream.accepted < 4) {
            stream.accepted +=
                sm_rank_try_send(&rank, 0, stream.accepted, 3000, sm_stream_sent, &stream, &status);
        }
    }
    minihost_barrier(host, NULL);
    while (host->rank == 0 && rank.received[1] < 4) {
        sm_rank_progress();
    }
    if (host->rank == 0) {
        btl_close();
    }
    minihost_barrier(host, NULL);
    while (host->rank == 1 && stream.good + stream.bad < 4) {
        sm_rank_progress();
    }
    must(stream.bad == 0 && rank.errors[0] == 0);
    if (host->rank == 1) {
        btl_close();
    }
    return 0;
}

START_TEST(what_a_leaver_has_taken_has_arrived)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    sm_ranks_run(&options, taken_run, NULL);
}
END_TEST

static unsigned count_large(struct sm_rank *rank, mca_btl_base_descriptor_t **taken, unsigned most)
{
    unsigned count = 0;
    size_t size = rank->btl->btl_max_send_size;
    while (count < most &&
           (taken[count] = rank->btl->btl_alloc(rank->btl, NULL, MCA_BTL_NO_ORDER, size, 0))) {
        memset(taken[count++]->des_segments[0].seg_addr.pval, 0xee, size);
    }
    for (unsigned i = 0; i < count; i++) {
        rank->btl->btl_free(rank->btl, taken[i]);
    }
    return count;
}

/* A fragment that was sent to a peer is not used again while that peer may read it, also when the
 * endpoint is gone. */
static int lasting_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    sm_rank_start(&rank, host);
    if (host->rank == 0) {
        mca_btl_base_descriptor_t *taken[256];
        unsigned all = count_large(&rank, taken, 256);
        struct sm_stream stream = {.accepted = 1};
        int status;
        must(sm_rank_try_send(&rank, 1, 0, rank.btl->btl_max_send_size, sm_stream_sent, &stream,
                              &status));
        sm_rank_drop(&rank, 1);
        must(stream.bad == 1 && stream.good == 0);
        must(count_large(&rank, taken, 256) == all - 1);
        for (int i = 0; i < 2000; i++) {
            sm_rank_progress();
        }
        must(count_large(&rank, taken, 256) == all - 1);
        minihost_barrier(host, NULL);
        while (count_large(&rank, taken, 256) < all) {
            sm_rank_progress();
        }
    } else {
        minihost_barrier(host, NULL);
        while (rank.received[0] == 0) {
            sm_rank_progress();
        }
    }
    sm_rank_wait_all();
    btl_close();
    return 0;
}

START_TEST(fragments_last_while_they_are_read)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    sm_ranks_run(&options, lasting_run, NULL);
}
END_TEST

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

static unsigned count_mappings(void)
{
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        count += strstr(line, "keel-sm") || strstr(line, "/sm-");
    }
    fclose(maps);
    return count;
}

static unsigned count_files(const char *path)
{
    unsigned count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        count += entry->d_name[0] != '.';
    }
    closedir(dir);
    return count;
}

static int leaving_run(struct minihost *host, void *arg)
{
    struct sm_rank rank = {.host = host};
    sm_rank_current = &rank;
    must(param_override("btl_sm_backing", arg) == ORTE_SUCCESS);
    unsigned descriptors = count_descriptors();
    sm_rank_start(&rank, host);
    must(count_mappings() > 0);
    must(count_files(minihost_ops.session_dir(host)) ==
         (strcmp(arg, "file") == 0 ? (unsigned) host->size : 0));
    for (int to = 0; to < host->size; to++) {
        if (rank.endpoints[to]) {
            sm_rank_send(&rank, to, 0, 3000);
        }
    }
    for (int from = 0; from < host->size; from++) {
        while (from != host->rank && rank.received[from] == 0) {
            sm_rank_progress();
        }
    }
    sm_rank_wait_all();
    btl_close(); /* without del_procs */
    must(count_mappings() == 0);
    must(count_descriptors() == descriptors);
    minihost_barrier(host, NULL);
    must(count_files(minihost_ops.session_dir(host)) == 0);
    return 0;
}

UNIT_LOOP(finalize_leaves_nothing, 0, 2)
{
    const struct minihost_options options = {.size = 3, .timeout_ms = 9000};
    static char backings[2][8] = {"memfd", "file"};
    sm_ranks_run(&options, leaving_run, backings[_i]);
}
END_TEST

UNIT_MAIN("sm-leave")
