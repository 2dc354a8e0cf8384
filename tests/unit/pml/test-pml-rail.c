/* What goes wrong between real processes: tests/conformance/tagged has their messages. */
#include <config.h>

#include <base/settings/fault.h>
#include <base/settings/param.h>
#include <keel/btl_ext.h>
#include <keel/pml.h>
#include <ptl/rail/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/minihost.h>
#include <tests/lib/unit.h>

enum { MOST = 2 << 20, CONTEXT = 65535 };

static const char *btl;
static struct minihost *host;
static struct keel_pml_context *context;

static void must(int status, const char *what)
{
    if (status != OPAL_SUCCESS) {
        minihost_fail(host, "rank %d: %s: %s", host->rank, what, opal_strerror(status));
    }
}

static void check(bool good, const char *what)
{
    if (!good) {
        minihost_fail(host, "rank %d: %s", host->rank, what);
    }
}

static int poll_all(void)
{
    (void) minihost_progress(host);
    return keel_pml_progress();
}

static void open_rank(struct minihost *minihost)
{
    char reason[256] = "";
    opal_proc_t *procs[16];
    host = minihost;
    for (int i = 0; i < host->size; i++) {
        procs[i] = &host->procs[i];
    }
    must(param_override("btl", btl), "override btl");
    must(param_override("btl_tcp_if_include", "lo"), "override tcp");
    must(keel_host_open(&minihost_ops, host, NULL, reason, sizeof(reason)), "keel_host_open");
    minihost_barrier(host, NULL);
    must(keel_host_add_procs(procs, (size_t) host->size, reason, sizeof(reason)), reason);
    must(keel_pml_open_on(&minihost_ops, host), "keel_pml_open_on");
    minihost_barrier(host, poll_all);
    if (host->rank > 0) { /* others' messages may come before */
        must(keel_pml_context_open(CONTEXT, procs, (size_t) host->size, host->rank, &context),
             "context");
    }
}

static void open_late(void)
{
    opal_proc_t *procs[16];
    for (int i = 0; i < host->size; i++) {
        procs[i] = &host->procs[i];
    }
    if (!context) {
        must(keel_pml_context_open(CONTEXT, procs, (size_t) host->size, host->rank, &context),
             "context");
    }
}

static void close_rank(void)
{
    must(keel_pml_context_free(&context), "free");
    minihost_barrier(host, poll_all);
    must(keel_pml_close(), "close");
    must(keel_host_close(), "host close");
}

/* ---- a context that is freed ---- */

/* Each has a long message of the other one, which nobody receives. */
static int run_unreceived(struct minihost *minihost, void *unused)
{
    static uint8_t bytes[MOST];
    struct keel_pml_request *send;
    opal_convertor_t data;
    (void) unused;
    open_rank(minihost);
    minihost_barrier(host, poll_all);
    open_late();
    opal_convertor_prepare(&data, bytes, MOST);
    const int other = 1 - host->rank;
    must(keel_pml_isend(context, &data, other, 1, KEEL_PML_STANDARD, &send), "isend");
    must(keel_pml_probe(context, other, 1, NULL), "probe");
    must(keel_pml_request_free(&send), "request_free");
    close_rank();
    return 0;
}

/* ---- memory that is lacking ---- */

static const char *faults; /* in the last rank */

static void open_all(struct minihost *minihost)
{
    open_rank(minihost);
    minihost_barrier(host, poll_all);
    open_late();
    minihost_barrier(host, poll_all);
    if (host->rank == host->size - 1) {
        must(fault_set(faults), "faults");
    }
}

/* Rank 0 sends until it is told that a message was lost; the last rank, which may be the same,
 * receives until then. */
static int run_lost(struct minihost *minihost, void *unused)
{
    static uint8_t bytes[8];
    opal_convertor_t data;
    int status = OPAL_SUCCESS;
    (void) unused;
    open_all(minihost);
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    const int last = host->size - 1;
    for (int i = 0; status == OPAL_SUCCESS && i < 100; i++) {
        if (host->rank == 0) {
            status = keel_pml_send(context, &data, last, 1,
                                   i % 2 && last > 0 ? KEEL_PML_SYNCHRONOUS : KEEL_PML_STANDARD);
        }
        if (host->rank == last && status == OPAL_SUCCESS) {
            status = keel_pml_recv(context, &data, 0, 1, NULL);
        }
    }
    check(status == OPAL_ERR_UNREACH, "both ends hear that a message is lost");
    check(keel_pml_recv(context, &data, last - host->rank, 1, NULL) == OPAL_ERR_UNREACH,
          "nothing can come any more");
    minihost_barrier(host, poll_all);
    must(fault_set(NULL), "no faults");
    close_rank();
    return 0;
}

enum { ROUNDS = 40, A_ROUND = 30 };

/* Rank 0 sends, and takes no answers until all is sent; *failed: how many sends failed. */
static void send_deaf(size_t *failed)
{
    static struct keel_pml_request *sends[ROUNDS * A_ROUND];
    static uint8_t bytes[8];
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    for (int i = 0; i < ROUNDS * A_ROUND; i++) {
        must(keel_pml_isend(context, &data, 1, 1, KEEL_PML_SYNCHRONOUS, &sends[i]), "isend");
        if (i % A_ROUND == A_ROUND - 1) {
            minihost_barrier(host, NULL);
        }
    }
    minihost_barrier(host, NULL);
    for (int i = 0; i < ROUNDS * A_ROUND; i++) {
        *failed += keel_pml_wait(&sends[i], NULL) == OPAL_ERR_UNREACH;
    }
}

static void receive_from_deaf(size_t *failed)
{
    uint8_t bytes[8];
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    for (int i = 0; i < ROUNDS * A_ROUND; i++) {
        *failed += keel_pml_recv(context, &data, 0, 1, NULL) == OPAL_ERR_UNREACH;
        if (i % A_ROUND == A_ROUND - 1) {
            minihost_barrier(host, NULL);
        }
    }
    minihost_barrier(host, NULL);
}

static const char *answers_size;

static int run_deaf(struct minihost *minihost, void *fails)
{
    size_t failed = 0;
    must(param_override("ptl_rail_answers_size", answers_size), "override answers");
    open_all(minihost);
    if (minihost->rank == 0) {
        send_deaf(&failed);
    } else {
        receive_from_deaf(&failed);
    }
    check((failed > 0) == (fails != NULL), "answers that wait");
    minihost_barrier(host, poll_all);
    must(fault_set(NULL), "no faults");
    close_rank();
    return 0;
}

/* ---- copies ---- */

enum { COPIED = 1000, COPIED_BYTES = 8000, KEPT_MOST = 1 << 20 };

static size_t kept(void)
{
    const struct rail_link *link;
    size_t bytes = 0;
    list_for_each (link, &rail.all_links, const struct rail_link, all) {
        bytes += link->kept_bytes;
    }
    return bytes;
}

/* To one that looks at nothing until the barrier; then it receives, and says nothing but what has
 * come. */
static void send_many(bool numbered)
{
    static struct keel_pml_request *sends[COPIED];
    static uint8_t bytes[COPIED_BYTES];
    size_t most = 0;
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    for (int i = 0; i < COPIED; i++) {
        must(keel_pml_isend(context, &data, 1, 1, KEEL_PML_STANDARD, &sends[i]), "isend");
        (void) poll_all();
        most = kept() > most ? kept() : most;
    }
    check(most <= KEPT_MOST, "copies are bounded");
    check(numbered ? most > KEPT_MOST / 2 : most == 0, "copies are kept where there is a standby");
    minihost_barrier(host, NULL);
    must(keel_pml_waitall(COPIED, sends, NULL), "waitall");
    while (kept() > 0) {
        minihost_check(host);
        (void) poll_all();
    }
}

static void receive_many(void)
{
    uint8_t bytes[COPIED_BYTES];
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    minihost_barrier(host, NULL);
    for (int i = 0; i < COPIED; i++) {
        must(keel_pml_recv(context, &data, 0, 1, NULL), "recv");
    }
}

static int run_copies(struct minihost *minihost, void *numbered)
{
    open_all(minihost);
    if (minihost->rank == 0) {
        send_many(numbered != NULL);
    } else {
        receive_many();
    }
    minihost_barrier(host, poll_all);
    close_rank();
    return 0;
}

/* ---- who connects ---- */

/* Of the module that leads to another rank: sessions that ever came up. */
static uint64_t sessions(void)
{
    enum { ROWS = 64 };
    struct keel_btl_stat stats[ROWS];
    size_t count, i = 0;
    const struct keel_rail *rails =
        keel_host_rails(&host->procs[(host->rank + 1) % host->size], &count);
    check(count == 1, "one rail");
    count = keel_btl_stats(rails->btl, NULL, stats, ROWS);
    check(count <= ROWS, "all counters");
    while (i < count && strcmp(stats[i].name, "sessions") != 0) {
        i++;
    }
    check(i < count, "sessions are counted");
    return i < count ? stats[i].value : 0;
}

/* The receive waits for a while, then its message is sent. */
static void receive_from(int32_t source, int32_t sender, uint64_t connected)
{
    enum { PASSES = 2000 };
    int32_t number = -1;
    opal_convertor_t data;
    struct keel_pml_status status;
    struct keel_pml_request *request;
    opal_convertor_prepare(&data, &number, sizeof(number));
    must(keel_pml_irecv(context, &data, source, 1, &request), "irecv");
    for (int i = 0; i < PASSES; i++) {
        (void) poll_all();
    }
    check(sessions() == connected, "a receive connects nothing");
    minihost_barrier(host, poll_all);
    must(keel_pml_wait(&request, &status), "wait");
    check(status.source == sender && number == sender, "the message has come");
    check(sessions() == connected + 1, "its sender has connected");
}

/* Rank 0 sends nothing. */
static int run_listener(struct minihost *minihost, void *unused)
{
    (void) unused;
    open_rank(minihost);
    open_late();
    minihost_barrier(host, poll_all);
    for (int32_t sender = 2; sender > 0; sender--) {
        if (host->rank == 0) {
            receive_from(sender == 2 ? KEEL_PML_ANY_SOURCE : sender, sender, 2 - (uint64_t) sender);
        } else {
            minihost_barrier(host, poll_all);
        }
        if (host->rank == sender) {
            opal_convertor_t data;
            opal_convertor_prepare(&data, &sender, sizeof(sender));
            must(keel_pml_send(context, &data, 0, 1, KEEL_PML_STANDARD), "send");
        }
        minihost_barrier(host, poll_all);
    }
    close_rank();
    return 0;
}

/* ---- another version ---- */

static char told[512]; /* why a rail failed */

static void note_error(mca_btl_base_module_t *module, int32_t flags, opal_proc_t *proc, char *text)
{
    (void) module, (void) flags, (void) proc;
    snprintf(told, sizeof(told), "%s", text);
}

/* Rank 0 sends a header of the next version. */
static int run_versions(struct minihost *minihost, void *unused)
{
    uint8_t header[16] = {0x41, 0, 0xff, 0xff}, byte;
    opal_convertor_t data;
    size_t count;
    (void) unused;
    open_all(minihost);
    opal_convertor_prepare(&data, &byte, sizeof(byte));
    const int other = 1 - host->rank;
    const struct keel_rail *rails = keel_host_rails(&host->procs[other], &count);
    mca_btl_base_module_t *module = rails[0].btl;
    must(module->btl_register_error(module, note_error), "register_error");
    if (host->rank == 0) {
        must(keel_btl_ext(module)->channel_sendi(module, rails[0].endpoint, NULL, header,
                                                 sizeof(header), 0, MCA_BTL_NO_ORDER, 0, 1, 0,
                                                 NULL),
             "channel_sendi");
    }
    check(keel_pml_recv(context, &data, other, 1, NULL) == OPAL_ERR_UNREACH, "it is refused");
    while (!told[0]) {
        minihost_check(host);
        (void) poll_all();
    }
    check(host->rank == 0 || (strstr(told, "version 4") && strstr(told, "version 3")),
          "both versions are named");
    minihost_barrier(host, poll_all);
    close_rank();
    return 0;
}

/* ---- the cases ---- */

static void run(const char *btls, int ranks, int (*rank)(struct minihost *, void *), void *arg)
{
    char reason[512];
    struct minihost_options options = {.size = ranks, .timeout_ms = 28000};
    btl = btls;
    bool good = minihost_run(&options, rank, arg, reason, sizeof(reason));
    ck_assert_msg(good, "%s: %s", btls, reason);
}

START_TEST(freed_contexts_do_not_wait_for_each_other)
{
    run("self,sm", 2, run_unreceived, NULL);
}
END_TEST

START_TEST(lost_messages_end_the_peer)
{
    static const char *const all[] = {"ptl.rail.message:error=ENOMEM",
                                      "ptl.rail.message:error=ENOMEM:after=5"};
    for (size_t i = 0; i < 2; i++) {
        faults = all[i];
        run("self,sm", 2, run_lost, NULL);
        run("self,tcp", 2, run_lost, NULL);
        run("self", 1, run_lost, NULL);
    }
}
END_TEST

static int some;

START_TEST(answers_wait_for_room)
{
    answers_size = "64m";
    run("self,sm", 2, run_deaf, NULL);
}
END_TEST

START_TEST(answers_that_wait_are_bounded)
{
    answers_size = "4k";
    run("self,sm", 2, run_deaf, &some);
}
END_TEST

START_TEST(answers_without_memory_end_the_peer)
{
    answers_size = "64m";
    faults = "ptl.rail.answer:error=ENOMEM";
    run("self,sm", 2, run_deaf, &some);
}
END_TEST

START_TEST(copies_are_bounded_and_go_when_they_have_come)
{
    faults = NULL;
    run("self,sm,tcp", 2, run_copies, &some);
    run("self,tcp", 2, run_copies, NULL);
    run("self,sm", 2, run_copies, NULL);
}
END_TEST

START_TEST(a_receive_alone_connects_no_rail)
{
    run("self,tcp", 3, run_listener, NULL);
    run("self,sm", 3, run_listener, NULL);
}
END_TEST

START_TEST(another_version_is_refused)
{
    run("self,sm", 2, run_versions, NULL);
    run("self,tcp", 2, run_versions, NULL);
}
END_TEST

UNIT_MAIN("pml-rail")
