/* The installed way into the data plane: a host of this test's own, in one process and in three. */
#include <tests/lib/unit.h>

#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <keel/btl_ext.h>
#include <keel/host.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/minihost.h>
#include <unistd.h>

enum { RANKS = 3, ROUNDS = 50, TEXT_TAG = MCA_BTL_TAG_USR, ASK_TAG, ANSWER_TAG, NOTE_TAG };

/* --- alone --- */

static int heard;

static void hear(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *arg)
{
    (void) btl, (void) tag, (void) descriptor, (void) arg;
    heard++;
}

static const struct keel_rail *rail_to(opal_proc_t *proc)
{
    size_t count = 7;
    const struct keel_rail *rails = keel_host_rails(proc, &count);
    ck_assert((rails != NULL) == (count > 0));
    return rails;
}

static int say(const struct keel_rail *rail, mca_btl_base_tag_t tag, uint32_t number)
{
    return rail->btl->btl_sendi(rail->btl, rail->endpoint, NULL, &number, sizeof(number), 0,
                                MCA_BTL_NO_ORDER, 0, tag, NULL);
}

static void open_alone(const struct keel_host_options *options)
{
    char reason[256] = "x";
    opal_proc_t *procs[] = {&minihost_myself};
    ck_assert_int_eq(param_override("btl", "self"), ORTE_SUCCESS);
    int status = keel_host_open(&minihost_alone, NULL, options, reason, sizeof(reason));
    ck_assert_msg(status == OPAL_SUCCESS, "%s", reason);
    ck_assert_int_eq(keel_host_add_procs(procs, 1, reason, sizeof(reason)), OPAL_SUCCESS);
    ck_assert_str_eq(reason, "");
}

START_TEST(test_closed)
{
    size_t count = 7;
    opal_proc_t *procs[] = {&minihost_myself};
    ck_assert_int_eq(keel_host_close(), OPAL_ERROR);
    ck_assert_int_eq(keel_host_add_procs(procs, 1, NULL, 0), OPAL_ERROR);
    ck_assert_int_eq(keel_host_ft_event(OPAL_CRS_CHECKPOINT), OPAL_ERROR);
    ck_assert_int_eq(keel_host_progress(), 0);
    ck_assert_ptr_null(keel_host_rails(&minihost_myself, &count));
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(keel_host_rails(&minihost_myself, NULL));
    keel_host_proc_ended(&minihost_myself);
}
END_TEST

static const opal_proc_t *nobody(void *host)
{
    (void) host;
    return NULL;
}

START_TEST(test_refused)
{
    char reason[256] = "";
    struct keel_host_ops lacking[] = {minihost_alone, minihost_alone, minihost_alone,
                                      minihost_alone};
    lacking[0].me = NULL;
    lacking[1].put_card = NULL;
    lacking[2].get_card = NULL;
    lacking[3].pair_key = NULL;
    for (size_t i = 0; i < sizeof(lacking) / sizeof(*lacking); i++) {
        ck_assert_int_eq(keel_host_open(&lacking[i], NULL, NULL, reason, sizeof(reason)),
                         OPAL_ERR_BAD_PARAM);
        ck_assert_ptr_nonnull(strstr(reason, "lacks"));
    }
    struct keel_host_ops nameless = minihost_alone;
    nameless.me = nobody;
    ck_assert_int_eq(keel_host_open(&nameless, NULL, NULL, reason, sizeof(reason)),
                     OPAL_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "me returned NULL"));
    struct keel_host_options options = {.size = 3};
    ck_assert_int_eq(keel_host_open(&minihost_alone, NULL, &options, reason, sizeof(reason)),
                     OPAL_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "options of 3 bytes"));
    ck_assert_int_eq(keel_host_open(NULL, NULL, NULL, NULL, 0), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(param_override("btl", "none"), ORTE_SUCCESS);
    ck_assert_int_eq(keel_host_open(&minihost_alone, NULL, NULL, reason, sizeof(reason)),
                     OPAL_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "none"));
    ck_assert_int_eq(keel_host_close(), OPAL_ERROR);
}
END_TEST

/* A list with a hole: none of its peers is added. */
START_TEST(test_add_nobody)
{
    char reason[256] = "";
    size_t count;
    opal_proc_t other = {.proc_name = {.jobid = minihost_myself.proc_name.jobid, .vpid = 77}};
    opal_proc_t *procs[] = {&other, NULL, &other};
    open_alone(NULL);
    ck_assert_int_eq(keel_host_add_procs(procs, 3, reason, sizeof(reason)), OPAL_ERR_BAD_PARAM);
    ck_assert_str_eq(reason, "procs[1] of 3 is NULL");
    ck_assert_int_eq(keel_host_add_procs(procs + 1, 1, NULL, 0), OPAL_ERR_BAD_PARAM);
    ck_assert_ptr_null(keel_host_rails(&other, &count));
    ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
}
END_TEST

static int changes;

static void watch_again(const orte_process_name_t *peer, void *arg)
{
    (void) peer, (void) arg;
    ck_assert_int_lt(changes++, 100);
    ck_assert_int_eq(keel_host_rails_watch(watch_again, NULL), OPAL_SUCCESS);
}

/* A watcher that a watcher sets hears of the next change, not of this one. */
START_TEST(test_watch_in_watcher)
{
    opal_proc_t other = minihost_myself, *procs[] = {&other};
    other.proc_name.vpid = 77;
    ck_assert_int_eq(param_override("btl", "self,sm"), ORTE_SUCCESS);
    ck_assert_int_eq(keel_host_open(&minihost_alone, NULL, NULL, NULL, 0), OPAL_SUCCESS);
    ck_assert_int_eq(keel_host_add_procs(procs, 1, NULL, 0), OPAL_SUCCESS);
    const struct keel_rail *rail = rail_to(&other);
    ck_assert_int_eq(say(rail, TEXT_TAG, 1), OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(keel_host_rails_watch(watch_again, NULL), OPAL_SUCCESS);
    keel_host_proc_ended(&other);
    (void) keel_host_progress();
    ck_assert_int_eq(changes, 1);
    ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
}
END_TEST

static int failures;

static void note_failure(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *peer, char *text)
{
    (void) btl, (void) flags, (void) text;
    failures += peer->proc_name.vpid == 77;
}

static struct {
    keel_card_fn done;
    void *arg;
} question;

static void answer_later(void *host, const opal_proc_t *peer, const char *key, keel_card_fn done,
                         void *arg)
{
    (void) host, (void) peer, (void) key;
    question.done = done;
    question.arg = arg;
}

/* A peer that the program has added by itself, and never asked the rails of, fails, too. */
START_TEST(test_end_of_an_added_peer)
{
    opal_proc_t other = minihost_myself, third = minihost_myself, *procs[] = {&other, &third};
    opal_proc_t *proc = &other;
    struct keel_host_ops slow = minihost_alone;
    slow.get_card = answer_later;
    other.proc_name.vpid = 77;
    third.proc_name.vpid = 78;
    ck_assert_int_eq(param_override("btl", "self,sm"), ORTE_SUCCESS);
    ck_assert_int_eq(keel_host_open(&slow, NULL, NULL, NULL, 0), OPAL_SUCCESS);
    ck_assert_int_eq(keel_host_add_procs(procs, 2, NULL, 0), OPAL_SUCCESS);
    struct keel_rail rail = {.btl = rail_to(&third)->btl};
    rail.btl->btl_register_error(rail.btl, note_failure);
    ck_assert_int_eq(rail.btl->btl_add_procs(rail.btl, 1, &proc, &rail.endpoint, NULL),
                     OPAL_SUCCESS);
    ck_assert_int_eq(say(&rail, TEXT_TAG, 1), OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_ptr_nonnull(question.done);
    (void) keel_host_progress();
    ck_assert_int_eq(failures, 0);
    keel_host_proc_ended(&other);
    (void) keel_host_progress();
    ck_assert_int_eq(failures, 1);
    ck_assert_int_eq(say(&rail, TEXT_TAG, 1), OPAL_ERR_UNREACH);
    question.done(question.arg, OPAL_ERR_NOT_FOUND, NULL, 0);
    rail.btl->btl_del_procs(rail.btl, 1, &proc, &rail.endpoint);
    ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
}
END_TEST

/* Opened, used and closed as often as one likes; not twice at once. */
START_TEST(test_again)
{
    struct keel_host_options threads = {.size = sizeof(threads), .thread_multiple = true};
    char reason[256];
    for (int i = 0; i < 4; i++) {
        open_alone(i % 2 ? &threads : NULL);
        ck_assert_int_eq(keel_host_open(&minihost_alone, NULL, NULL, reason, sizeof(reason)),
                         OPAL_EXISTS);
        const struct keel_rail *rail = rail_to(&minihost_myself);
        rail->btl->btl_register(rail->btl, TEXT_TAG, hear, NULL);
        ck_assert_int_eq(say(rail, TEXT_TAG, 1), OPAL_SUCCESS);
        while (heard == i) {
            (void) keel_host_progress();
        }
        ck_assert_int_eq(keel_host_add_procs(NULL, 1, NULL, 0), OPAL_ERR_BAD_PARAM);
        ck_assert_int_eq(keel_host_ft_event(OPAL_CRS_CHECKPOINT), OPAL_SUCCESS);
        ck_assert_int_eq(say(rail, TEXT_TAG, 1), OPAL_ERR_OUT_OF_RESOURCE);
        ck_assert_int_eq(keel_host_ft_event(OPAL_CRS_CONTINUE), OPAL_SUCCESS);
        ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
        ck_assert_int_eq(keel_host_close(), OPAL_ERROR);
        ck_assert_ptr_null(rail_to(&minihost_myself));
    }
}
END_TEST

/* Alone, a message is delivered inside btl_sendi, and other callbacks come inside other calls. */
static void try_to_end(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    opal_proc_t *proc = &minihost_myself;
    ck_assert_int_eq(keel_host_close(), OPAL_ERR_NOT_SUPPORTED);
    ck_assert_int_eq(keel_host_ft_event(OPAL_CRS_CHECKPOINT), OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(btl->btl_del_procs(btl, 1, &proc, &endpoint), OPAL_ERR_RESOURCE_BUSY);
    heard++;
}

static void arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *descriptor, void *arg)
{
    (void) tag, (void) arg;
    try_to_end(btl, descriptor->des_context);
}

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) descriptor, (void) status;
    try_to_end(btl, endpoint);
}

static void put_done(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *local, mca_btl_base_registration_handle_t *handle, void *context,
                     void *data, int status)
{
    (void) local, (void) handle, (void) context, (void) data, (void) status;
    try_to_end(btl, endpoint);
}

static void room_or_end(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                        struct keel_btl_pending *pending, int status)
{
    (void) pending;
    try_to_end(btl, endpoint);
    ck_assert_int_eq(status, OPAL_ERR_UNREACH);
}

/* The program adds its endpoint itself, so that it could end it. */
START_TEST(test_callbacks_end_nothing)
{
    static uint64_t words[2];
    struct keel_btl_pending pending = {.ready = room_or_end};
    open_alone(NULL);
    mca_btl_base_module_t *btl = rail_to(&minihost_myself)->btl;
    struct mca_btl_base_endpoint_t *endpoint;
    opal_proc_t *proc = &minihost_myself;
    ck_assert_int_eq(btl->btl_add_procs(btl, 1, &proc, &endpoint, NULL), OPAL_SUCCESS);
    btl->btl_register(btl, TEXT_TAG, arrived, NULL);
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_alloc(btl, endpoint, MCA_BTL_NO_ORDER, 8,
                       MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    descriptor->des_cbfunc = sent;
    ck_assert_int_eq(btl->btl_send(btl, endpoint, descriptor, TEXT_TAG), 1);
    ck_assert_int_eq(heard, 2);
    mca_btl_base_registration_handle_t *handle =
        btl->btl_register_mem(btl, endpoint, words, sizeof(words), MCA_BTL_REG_FLAG_REMOTE_WRITE);
    ck_assert_int_eq(btl->btl_put(btl, endpoint, &words[0], (uint64_t) (uintptr_t) &words[1], NULL,
                                  handle, 8, 0, MCA_BTL_NO_ORDER, put_done, NULL, NULL),
                     OPAL_SUCCESS);
    ck_assert_int_eq(heard, 3);
    ck_assert_int_eq(keel_btl_ext(btl)->pending_add(btl, endpoint, &pending), OPAL_SUCCESS);
    ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS); /* which calls the request back */
    ck_assert_int_eq(heard, 4);
}
END_TEST

static bool was_asked;

static void ask_at_close(void)
{
    opal_proc_t *procs[] = {&minihost_myself};
    ck_assert_ptr_null(rail_to(&minihost_myself));
    ck_assert_int_eq(keel_host_add_procs(procs, 1, NULL, 0), OPAL_ERROR);
    ck_assert_int_eq(keel_host_progress(), 0);
    ck_assert_int_eq(keel_host_open(&minihost_alone, NULL, NULL, NULL, 0), OPAL_EXISTS);
    ck_assert_int_eq(keel_host_close(), OPAL_ERR_NOT_SUPPORTED);
    keel_host_proc_ended(&minihost_myself);
    was_asked = true;
}

/* By the host, which modules drive while they end. */
START_TEST(test_nothing_is_asked_of_what_has_ended)
{
    open_alone(NULL);
    ck_assert_ptr_nonnull(rail_to(&minihost_myself));
    btl_at_close(ask_at_close);
    ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
    ck_assert(was_asked);
}
END_TEST

/* --- three processes --- */

static uint32_t numbers[RANKS], told[RANKS];

static struct minihost *me;

static void must(struct minihost *host, bool good, const char *what)
{
    if (!good) {
        minihost_fail(host, "rank %d: %s", host->rank, what);
    }
}

static void number_arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                           mca_btl_base_descriptor_t *descriptor, void *arg)
{
    uint32_t from = (uint32_t) tag - NOTE_TAG, number;
    must(me, keel_host_close() == OPAL_ERR_NOT_SUPPORTED, "closed from a callback");
    must(me, keel_host_ft_event(OPAL_CRS_CHECKPOINT) == OPAL_ERR_RESOURCE_BUSY, "ft_event");
    must(me, keel_host_ft_event(OPAL_CRS_RESTART) == OPAL_ERR_RESOURCE_BUSY, "a restart");
    must(me, from == (uint32_t) me->rank || keel_host_progress() == 0, "progress inside progress");
    (void) btl;
    memcpy(&number, descriptor->des_segments[0].seg_addr.pval, sizeof(number));
    if (number != numbers[from]++) {
        minihost_fail(arg, "number %u of rank %u came for %u", number, from, numbers[from] - 1);
    }
}

static void rails_changed(const orte_process_name_t *peer, void *arg)
{
    (void) arg;
    told[peer->vpid]++;
    must(me, keel_host_progress() == 0, "progress inside progress, of who watches rails");
    must(me, keel_host_ft_event(OPAL_CRS_RESTART) == OPAL_ERR_RESOURCE_BUSY, "a watch's restart");
}

/* The host's own work, such as cards that are late, is the host's. */
static int poll(void)
{
    return minihost_progress(me) + keel_host_progress();
}

/* Nobody has asked for rails to whom this comes from. */
static void asked(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                  mca_btl_base_descriptor_t *descriptor, void *arg)
{
    const struct keel_rail back = {.btl = btl, .endpoint = descriptor->des_context};
    (void) tag;
    must(arg, back.endpoint != NULL, "a known peer that comes by itself has no endpoint");
    must(arg, say(&back, ANSWER_TAG, 1) == OPAL_SUCCESS, "the answer is refused");
}

/* Each rank asks the next one, which answers on the way that the question came. */
static void ask_the_next(struct minihost *host)
{
    const struct keel_rail *mine = rail_to(&host->procs[host->rank]);
    mine->btl->btl_register(mine->btl, ASK_TAG, asked, host);
    mine->btl->btl_register(mine->btl, ANSWER_TAG, hear, NULL);
    heard = 0;
    minihost_barrier(host, poll);
    const struct keel_rail *next = rail_to(&host->procs[(host->rank + 1) % RANKS]);
    int status = OPAL_ERR_OUT_OF_RESOURCE;
    while (heard == 0) {
        minihost_check(host);
        if (status != OPAL_SUCCESS) {
            status = say(next, ASK_TAG, 1);
        }
        (void) poll();
    }
    minihost_barrier(host, poll);
}

/* Everybody sends numbers to everybody, itself included, under a tag of the sender. */
static void all_to_all(struct minihost *host, int ranks)
{
    for (uint32_t number = 0; number < ROUNDS; number++) {
        for (int to = 0; to < ranks; to++) {
            const struct keel_rail *rail = rail_to(&host->procs[to]);
            must(host, rail != NULL, "there is no rail");
            int status = OPAL_ERR_OUT_OF_RESOURCE;
            while (status == OPAL_ERR_OUT_OF_RESOURCE) {
                minihost_check(host);
                (void) poll();
                status = say(rail, (mca_btl_base_tag_t) (NOTE_TAG + host->rank), number);
            }
            must(host, status == OPAL_SUCCESS, "a message is refused");
        }
    }
    for (int from = 0; from < ranks; from++) {
        while (numbers[from] < ROUNDS) {
            minihost_check(host);
            (void) poll();
        }
        numbers[from] = 0;
    }
    minihost_barrier(host, poll);
}

/* The last rank's process is gone, as this host knows: its rails go, and the others' stay. */
static void lose_the_last(struct minihost *host)
{
    keel_host_proc_ended(&host->procs[RANKS - 1]);
    keel_host_proc_ended(&host->procs[RANKS - 1]);
    keel_host_proc_ended(NULL);
    while (rail_to(&host->procs[RANKS - 1])) {
        minihost_check(host);
        const struct keel_rail *rail = rail_to(&host->procs[RANKS - 1]);
        (void) say(rail, NOTE_TAG, 0); /* sm hears of it when it has something to send */
        (void) poll();
    }
    must(host, told[RANKS - 1] == 1, "rails_changed is called once");
    must(host, told[0] == 0 && told[1] == 0, "the others have the rails that they had");
}

/* What a callback may not do, as number_arrived and rails_changed try, has no effect: the rails of
 * the last rank do not come back. */
static void go_on(struct minihost *host)
{
    int other = 1 - host->rank, status = OPAL_ERR_OUT_OF_RESOURCE;
    while (status == OPAL_ERR_OUT_OF_RESOURCE || numbers[other] == 0) {
        minihost_check(host);
        if (status == OPAL_ERR_OUT_OF_RESOURCE) {
            status =
                say(rail_to(&host->procs[other]), (mca_btl_base_tag_t) (NOTE_TAG + host->rank), 0);
        }
        (void) poll();
    }
    must(host, status == OPAL_SUCCESS, "a message is refused");
    must(host, !rail_to(&host->procs[RANKS - 1]), "a rail came back by a callback");
    must(host, told[RANKS - 1] == 1, "rails_changed is called again");
}

static const char *chosen; /* the parameter btl */
static bool threads;

static int run_rank(struct minihost *host, void *unused)
{
    char reason[256] = "";
    opal_proc_t *procs[RANKS] = {&host->procs[0], &host->procs[1], &host->procs[2]};
    struct keel_host_options options = {.size = sizeof(options), .thread_multiple = threads};
    (void) unused;
    me = host;
    must(host, param_override("btl", chosen) == ORTE_SUCCESS, "override");
    must(host, param_override("btl_tcp_if_include", "lo") == ORTE_SUCCESS, "override");
    must(host, keel_host_rails_watch(rails_changed, NULL) == OPAL_SUCCESS, "watch");
    must(host, keel_host_rails_watch(NULL, NULL) == OPAL_ERR_BAD_PARAM, "watch nothing");
    if (keel_host_open(&minihost_ops, host, &options, reason, sizeof(reason)) != OPAL_SUCCESS) {
        minihost_fail(host, "open: %s", reason);
    }
    minihost_barrier(host, NULL);
    for (int twice = 0; twice < 2; twice++) {
        if (keel_host_add_procs(procs, RANKS, reason, sizeof(reason)) != OPAL_SUCCESS) {
            minihost_fail(host, "add: %s", reason);
        }
    }
    ask_the_next(host);
    for (int from = 0; from < RANKS; from++) {
        mca_btl_base_module_t *module = rail_to(procs[from])->btl;
        module->btl_register(module, (mca_btl_base_tag_t) (NOTE_TAG + from), number_arrived, host);
    }
    minihost_barrier(host, poll);
    all_to_all(host, RANKS);
    if (host->rank == RANKS - 1) {
        _exit(EXIT_SUCCESS); /* without a word, and with all that it had */
    }
    lose_the_last(host);
    go_on(host);
    must(host, keel_host_close() == OPAL_SUCCESS, "close");
    return 0;
}

static void run_ranks(const char *btl, bool late_cards)
{
    char reason[512];
    struct minihost_options options = {.size = RANKS, .late_cards = late_cards};
    chosen = btl;
    bool good = minihost_run(&options, run_rank, NULL, reason, sizeof(reason));
    ck_assert_msg(good, "%s", reason);
}

UNIT_CASE(test_ranks_sm, run_ranks("self,sm", false))
UNIT_CASE(test_ranks_tcp, run_ranks("self,tcp", false))

START_TEST(test_threads)
{
    threads = true;
    run_ranks("self,sm,tcp", false);
}
END_TEST

UNIT_CASE(test_late_cards, run_ranks("self,sm,tcp", true))

UNIT_MAIN("plane")
