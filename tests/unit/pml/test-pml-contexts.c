/* What keel/pml.h promises of contexts, and where room, memory or numbers end. */
#include <config.h>

#include <base/settings/log.h>
#include <pml/peers/context.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/ranks.h>

/* ---- contexts ---- */

#ifndef __SANITIZE_ADDRESS__ /* which touches what is allocated */
START_TEST(a_member_that_is_not_used_costs_nothing)
{
    enum { MEMBERS = 1 << 20, PAGES = 16 * 4096 };
    struct keel_pml_context *context;
    start(&calm);
    long before = unit_resident_bytes();
    ck_assert_int_eq(context_create(world.pml[0], 9, NULL, MEMBERS, 0, &context), OPAL_SUCCESS);
    ck_assert_int_le(unit_resident_bytes() - before, PAGES);
    context_destroy(context);
    stop();
}
END_TEST
#endif

static void no_line(void *arg, enum log_level level, const char *line)
{
    (void) level, (void) line;
    ++*(int *) arg;
}

START_TEST(so_many_early_messages_wait_and_no_more)
{
    struct keel_pml_context *early, *late = NULL;
    int lines = 0;
    setenv("KEEL_MCA_pml_early_size", "4000", 1);
    start(&calm);
    log_set_sink(no_line, &lines);
    ck_assert_int_eq(pml_context_open(world.pml[0], 9, world.members, 2, 0, &early), OPAL_SUCCESS);
    for (int i = 0; i < 100; i++) {
        opal_convertor_t from = of(source, 50);
        ck_assert_int_eq(keel_pml_send(early, &from, 1, 5, KEEL_PML_STANDARD), OPAL_SUCCESS);
    }
    world_progress();
    ck_assert_uint_lt(world.counts.waiting_most, 100);
    ck_assert_int_gt(lines, 0);
    ck_assert_int_eq(pml_context_open(world.pml[1], 9, world.members, 2, 1, &late),
                     OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_ptr_null(late);
    ck_assert_int_eq(keel_pml_context_free(&early), OPAL_SUCCESS);
    stop();
}
END_TEST

/* Announcements, too. */
START_TEST(so_many_early_announcements_wait_and_no_more)
{
    struct keel_pml_context *early;
    struct keel_pml_request *sends[100];
    int lines = 0;
    setenv("KEEL_MCA_pml_early_size", "4000", 1);
    start(&calm);
    log_set_sink(no_line, &lines);
    ck_assert_int_eq(pml_context_open(world.pml[0], 9, world.members, 2, 0, &early), OPAL_SUCCESS);
    for (int i = 0; i < 100; i++) {
        opal_convertor_t from = of(source, 0);
        ck_assert_int_eq(keel_pml_isend(early, &from, 1, 5, KEEL_PML_SYNCHRONOUS, &sends[i]),
                         OPAL_SUCCESS);
    }
    world_progress();
    ck_assert_uint_lt(world.waiting, 40);
    world_flap(0);
    world_flap(1);
    world_progress();
    for (int i = 0; i < 100; i++) {
        (void) keel_pml_wait(&sends[i], NULL);
    }
    ck_assert_uint_eq(world.waiting, 0);
    ck_assert_int_eq(keel_pml_context_free(&early), OPAL_SUCCESS);
    stop();
}
END_TEST

/* A rank that ends before the context is opened, and is back by then. */
START_TEST(early_announcements_end_with_their_sender)
{
    struct keel_pml_context *early, *late;
    struct keel_pml_request *sends[3];
    opal_convertor_t data = of(source, 8), to = of(target, LONG);
    struct keel_pml_status status;
    start(&calm);
    ck_assert_int_eq(pml_context_open(world.pml[0], 9, world.members, 2, 0, &early), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_send(early, &data, 1, 5, KEEL_PML_STANDARD), OPAL_SUCCESS);
    data = of(source, LONG);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(keel_pml_isend(early, &data, 1, 5, KEEL_PML_STANDARD, &sends[i]),
                         OPAL_SUCCESS);
    }
    world_progress();
    ck_assert_uint_eq(world.waiting, 4);
    world_flap(0);
    world_flap(1);
    for (int i = 0; i < 3; i++) {
        ends(&sends[i], OPAL_ERR_UNREACH);
    }
    world_progress();
    ck_assert_uint_eq(world.waiting, 1); /* the one that has come whole */
    ck_assert_int_eq(pml_context_open(world.pml[1], 9, world.members, 2, 1, &late), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_recv(late, &to, 0, 5, &status), OPAL_SUCCESS);
    expect(&status, 0, 5, 8);
    ck_assert_int_eq(keel_pml_recv(late, &to, 0, 5, &status), OPAL_ERR_UNREACH);
    ck_assert_int_eq(keel_pml_context_free(&early), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_context_free(&late), OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(a_context_gives_back_what_nobody_received)
{
    struct keel_pml_request *send, *recv;
    start(&calm);
    send = isend(0, 1, 5, LONG, STANDARD);
    struct keel_pml_request *small = isend(0, 1, 5, 8, STANDARD);
    world_progress();
    recv = irecv(1, 0, 6, 8);
    ck_assert_int_eq(keel_pml_context_free(&ctx[1]), OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(keel_pml_cancel(recv), OPAL_SUCCESS);
    ends(&recv, OPAL_ERR_INTERUPTED);
    ck_assert_int_eq(keel_pml_context_free(&ctx[1]), OPAL_SUCCESS);
    ends(&send, OPAL_ERR_NOT_FOUND);
    ends(&small, OPAL_SUCCESS);
    /* The peer is there all the same. */
    ck_assert_int_eq(pml_context_open(world.pml[1], 10, NULL, 2, 1, &ctx[1]), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_context_free(&ctx[0]), OPAL_SUCCESS);
    ck_assert_int_eq(pml_context_open(world.pml[0], 10, NULL, 2, 0, &ctx[0]), OPAL_SUCCESS);
    send = isend(0, 1, 5, LONG, STANDARD);
    recv = irecv(1, 0, 5, LONG);
    ends(&recv, OPAL_SUCCESS);
    ends(&send, OPAL_SUCCESS);
    stop();
}
END_TEST

static void ignore(struct keel_pml_request *request, const struct keel_pml_status *status,
                   void *arg)
{
    (void) request, (void) status, (void) arg;
}

START_TEST(bad_arguments_change_nothing)
{
    struct keel_pml_context *none = NULL;
    struct keel_pml_request *request = NULL;
    struct keel_pml_message *message = NULL;
    opal_proc_t *holes[] = {&world.procs[0], NULL};
    bool flag;
    size_t number;
    start(&calm);
    struct pml *pml = world.pml[0];
    const int bad = OPAL_ERR_BAD_PARAM;
    ck_assert_int_eq(pml_context_open(pml, 65536, NULL, 2, 0, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 3, 0, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 2, 1, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 2, 2, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 2, -1, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, holes, 2, 0, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, world.members, 0, 0, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 2, 0, NULL), bad);
    ck_assert_int_eq(pml_context_open(pml, 7, NULL, 2, 0, &none), OPAL_EXISTS);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(keel_pml_context_free(&none), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, 2, 0, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, ANY, 0, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, 1, ANY_TAG, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(
        keel_pml_isend(ctx[0], NULL, 1, KEEL_PML_TAG_MIN - 1, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, 1, 0, (keel_pml_mode_t) 4, &request), bad);
    ck_assert_int_eq(keel_pml_isend(NULL, NULL, 1, 0, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, 1, 0, KEEL_PML_STANDARD, NULL), bad);
    ck_assert_int_eq(keel_pml_irecv(ctx[0], NULL, 2, 0, &request), bad);
    ck_assert_int_eq(keel_pml_irecv(ctx[0], NULL, -2, 0, &request), bad);
    ck_assert_int_eq(keel_pml_irecv(ctx[0], NULL, 1, KEEL_PML_TAG_MIN - 1, &request), bad);
    ck_assert_int_eq(keel_pml_irecv(ctx[0], NULL, 1, 0, NULL), bad);
    ck_assert_int_eq(keel_pml_send(NULL, NULL, 1, 0, KEEL_PML_STANDARD), bad);
    ck_assert_int_eq(keel_pml_recv(NULL, NULL, 1, 0, NULL), bad);
    ck_assert_int_eq(keel_pml_iprobe(ctx[0], 2, 0, &flag, NULL), bad);
    ck_assert_int_eq(keel_pml_iprobe(ctx[0], 1, 0, NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_improbe(ctx[0], 1, 0, NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_imrecv(&message, NULL, &request), bad);
    ck_assert_int_eq(keel_pml_send_init(ctx[0], NULL, 2, 0, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_recv_init(ctx[0], NULL, 2, 0, &request), bad);
    ck_assert_int_eq(keel_pml_start(NULL), bad);
    ck_assert_int_eq(keel_pml_wait(NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_test(&request, NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_waitany(1, NULL, &number, NULL), bad);
    ck_assert_int_eq(keel_pml_waitsome(1, &request, &number, NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_cancel(NULL), bad);
    ck_assert_int_eq(keel_pml_callback(NULL, ignore, NULL), bad);
    ck_assert_int_eq(keel_pml_request_free(NULL), bad);
    ck_assert_ptr_null(request);
    ck_assert_uint_eq(world.counts.packets, 0);
    request = irecv(0, 1, 0, 8);
    ck_assert_int_eq(keel_pml_start(request), bad);
    ck_assert_int_eq(keel_pml_request_free(&request), OPAL_SUCCESS);
    stop();
}
END_TEST

/* ---- shortages, memory, numbers ---- */

static void flood(const struct world_rules *rules)
{
    enum { MANY = 200 };
    struct keel_pml_request *sends[MANY];
    start(rules);
    for (int i = 0; i < MANY; i++) {
        sends[i] = isend(0, 1, i, (size_t) i % 3 ? 8 : LONG, STANDARD);
    }
    for (int i = 0; i < MANY; i++) {
        struct keel_pml_status status;
        opal_convertor_t to = of(target, LONG);
        ck_assert_int_eq(keel_pml_recv(ctx[1], &to, 0, ANY_TAG, &status), OPAL_SUCCESS);
        expect(&status, 0, i, (size_t) i % 3 ? 8 : LONG);
    }
    ck_assert_int_eq(keel_pml_waitall(MANY, sends, NULL), OPAL_SUCCESS);
    stop();
}

START_TEST(after_a_shortage_messages_go_on_in_order)
{
    struct world_rules rules = calm;
    rules.room = 3;
    flood(&rules);
    ck_assert_uint_gt(world.counts.short_calls, 100);
    rules.immediate = true;
    flood(&rules);
    ck_assert_uint_gt(world.counts.short_calls, 100);
    rules.refuses = 30;
    rules.flags |= MCA_PTL_GET;
    flood(&rules);
    rules.flags = 0; /* nobody tells that it is over */
    flood(&rules);
    ck_assert_uint_gt(world.counts.short_calls, 100);
}
END_TEST

static uint64_t counter(int me, int32_t rank, const char *name)
{
    struct keel_pml_stat stats[16];
    const size_t count = keel_pml_stats(ctx[me], rank, stats, 16);
    ck_assert_uint_le(count, 16);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(stats[i].name, name) == 0) {
            return stats[i].value;
        }
    }
    ck_abort_msg("no counter %s", name);
    return 0;
}

START_TEST(a_receiver_with_too_much_asks_for_no_more_data)
{
    enum { MANY = 200 };
    struct keel_pml_request *sends[MANY], *more;
    setenv("KEEL_MCA_pml_unexpected_size", "10000", 1);
    start(&calm);
    for (int i = 0; i < MANY; i++) {
        sends[i] = isend(0, 1, i, 50, STANDARD);
        world_progress();
    }
    ck_assert(!is_done(&sends[MANY - 1], NULL)); /* it waits to be matched */
    ck_assert(is_done(&sends[0], NULL));
    const uint64_t most = counter(1, 0, "unexpected_most");
    ck_assert_uint_gt(counter(1, 0, "unexpected_now"), 10000);
    for (int i = 0; i < MANY; i++) {
        struct keel_pml_request *recv = irecv(1, 0, i, 50);
        struct keel_pml_status status = ends(&recv, OPAL_SUCCESS);
        expect(&status, 0, i, 50);
    }
    ck_assert_int_eq(keel_pml_waitall(MANY, sends, NULL), OPAL_SUCCESS);
    ck_assert_uint_eq(counter(1, 0, "unexpected_now"), 0);
    ck_assert_uint_ge(counter(1, KEEL_PML_ANY_SOURCE, "unexpected_most"), most);
    ck_assert_uint_eq(counter(0, 1, "unexpected_most"), 0);
    /* It has room again. */
    world_progress();
    world_progress();
    more = isend(0, 1, 0, 50, STANDARD);
    ends(&more, OPAL_SUCCESS);
    more = irecv(1, 0, 0, 50);
    ends(&more, OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(what_is_asked_in_a_freed_context_counts_too)
{
    enum { MANY = 200 };
    struct keel_pml_context *freed, *other;
    setenv("KEEL_MCA_pml_unexpected_size", "10000", 1);
    start(&calm);
    ck_assert_int_eq(pml_context_open(world.pml[0], 9, world.members, 2, 0, &freed), OPAL_SUCCESS);
    ck_assert_int_eq(pml_context_open(world.pml[1], 9, world.members, 2, 1, &other), OPAL_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        opal_convertor_t from = of(source, 50);
        ck_assert_int_eq(keel_pml_send(freed, &from, 1, 5, KEEL_PML_STANDARD), OPAL_SUCCESS);
    }
    ck_assert_int_eq(keel_pml_context_free(&freed), OPAL_SUCCESS);
    world_progress();
    struct keel_pml_request *send = isend(0, 1, 6, 50, STANDARD);
    world_progress();
    ck_assert(!is_done(&send, NULL)); /* it waits to be matched */
    for (int i = 0; i < MANY; i++) {
        opal_convertor_t to = of(target, 50);
        ck_assert_int_eq(keel_pml_recv(other, &to, 0, 5, NULL), OPAL_SUCCESS);
    }
    world_progress();
    world_progress();
    struct keel_pml_request *more = isend(0, 1, 6, 50, STANDARD);
    ends(&more, OPAL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        more = irecv(1, 0, 6, 50);
        ends(&more, OPAL_SUCCESS);
    }
    ends(&send, OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_context_free(&other), OPAL_SUCCESS);
    stop();
}
END_TEST

/* Receives so many messages with tags that count up. */
static void receive_in_order(int32_t first, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        struct keel_pml_status status;
        opal_convertor_t to = of(target, 8);
        ck_assert_int_eq(keel_pml_recv(ctx[1], &to, 0, ANY_TAG, &status), OPAL_SUCCESS);
        ck_assert_int_eq(status.tag, first + i);
    }
}

/* A message comes last, behind more than its number can tell apart: the others' sender waits. */
static void wrap_behind(int32_t before)
{
    enum { MANY = 100000 };
    static struct keel_pml_request *sends[MANY];
    start(&calm);
    for (int32_t i = 0; i < before; i++) {
        opal_convertor_t from = of(source, 0);
        ck_assert_int_eq(keel_pml_send(ctx[0], &from, 1, i, KEEL_PML_STANDARD), OPAL_SUCCESS);
    }
    receive_in_order(0, before);
    world.holds = true;
    world.held_tag = before;
    size_t packets = world.counts.packets;
    for (int32_t i = 0; i < MANY; i++) {
        sends[i] = isend(0, 1, before + i, 0, STANDARD);
    }
    for (int i = 0; i < 100; i++) {
        world_progress();
    }
    ck_assert_uint_lt(world.counts.packets - packets, 20000);
    world.holds = false;
    receive_in_order(before, MANY);
    ck_assert_int_eq(keel_pml_waitall(MANY, sends, NULL), OPAL_SUCCESS);
    stop();
}

START_TEST(numbers_wrap)
{
    wrap_behind(0);
    wrap_behind(60000);
}
END_TEST

START_TEST(requests_are_kept_for_modules)
{
    struct world_rules rules = calm;
    struct keel_pml_request *sends[10];
    rules.cache_size = 4;
    rules.cache_bytes = 100;
    start(&rules);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 10; i++) {
            sends[i] = isend(0, 1, 5, 8, STANDARD);
        }
        ck_assert_int_eq(keel_pml_waitall(10, sends, NULL), OPAL_SUCCESS);
        ck_assert_uint_eq(world.counts.cached, 4u * (unsigned) (round + 1));
        ck_assert_uint_eq(world.counts.kept, 4);
    }
    stop();
}
END_TEST

static struct keel_pml_request *inner;
static int answers[4], hooks;

static void wait_inside(int rank)
{
    if (rank == 0) {
        bool there = false;
        hooks++;
        answers[0] = keel_pml_wait(&inner, NULL);
        answers[1] = keel_pml_send(ctx[0], NULL, 1, 5, KEEL_PML_STANDARD);
        answers[2] = keel_pml_probe(ctx[0], ANY, 5, NULL);
        answers[3] = keel_pml_iprobe(ctx[0], ANY, 5, &there, NULL);
    }
}

START_TEST(nobody_waits_inside_of_progress)
{
    start(&calm);
    inner = irecv(0, 1, 5, 8);
    world.hook = wait_inside;
    (void) pml_progress(world.pml[0]);
    ck_assert_int_eq(hooks, 1);
    ck_assert_int_eq(answers[0], OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(answers[1], OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(answers[2], OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(answers[3], OPAL_SUCCESS);
    ck_assert_int_eq(pml_close(world.pml[0]), OPAL_ERR_RESOURCE_BUSY);
    world.hook = NULL;
    ck_assert_int_eq(keel_pml_request_free(&inner), OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(a_context_counts_its_messages)
{
    struct keel_pml_stat stats[16];
    start(&calm);
    struct keel_pml_request *first = irecv(1, 0, 5, 8);
    struct keel_pml_request *sends[] = {isend(0, 1, 5, 8, STANDARD), isend(0, 1, 6, 16, STANDARD),
                                        isend(0, 1, 7, 8 * FIRST, STANDARD)};
    for (int i = 0; i < 5; i++) {
        world_progress();
    }
    struct keel_pml_request *second = irecv(1, 0, 6, 16), *third = irecv(1, 0, 7, 8 * FIRST);
    ends(&first, OPAL_SUCCESS);
    ends(&second, OPAL_SUCCESS);
    ends(&third, OPAL_SUCCESS);
    for (int i = 0; i < 3; i++) {
        ends(&sends[i], OPAL_SUCCESS);
    }
    for (int i = 0; i < 2; i++) {
        const int32_t rank = i == 0 ? 1 : KEEL_PML_ANY_SOURCE;
        ck_assert_uint_eq(counter(0, rank, "messages_sent"), 3);
        ck_assert_uint_eq(counter(0, rank, "bytes_sent"), 24 + 8 * FIRST);
        ck_assert_uint_eq(counter(0, rank, "announced"), 1);
        ck_assert_uint_eq(counter(0, rank, "messages_received"), 0);
    }
    ck_assert_uint_eq(counter(0, 0, "messages_sent"), 0);
    ck_assert_uint_eq(counter(1, 0, "messages_received"), 3);
    ck_assert_uint_eq(counter(1, 0, "bytes_received"), 24 + 8 * FIRST);
    ck_assert_uint_eq(counter(1, 0, "unexpected"), 2);
    stats[1].name = "untouched";
    ck_assert_uint_gt(keel_pml_stats(ctx[0], 1, stats, 1), 1);
    ck_assert_str_eq(stats[1].name, "untouched");
    ck_assert_uint_eq(keel_pml_stats(ctx[0], world.rules.ranks, stats, 16), 0);
    ck_assert_uint_eq(keel_pml_stats(NULL, 0, stats, 16), 0);
    stop();
}
END_TEST

static struct keel_pml_request *nested;

static void send_inside(void)
{
    nested = isend(0, 1, 5, 16, STANDARD);
}

static void send_inside_of_a_send(const struct world_rules *rules)
{
    struct keel_pml_status status;
    size_t bytes = 0;
    start(rules);
    world.inner = send_inside;
    struct keel_pml_request *outer = isend(0, 1, 5, 8, STANDARD);
    ck_assert_ptr_nonnull(nested);
    for (int i = 0; i < 2; i++) {
        struct keel_pml_request *recv = irecv(1, 0, 5, 16);
        bool done = false;
        for (int round = 0; round < 10 && !done; round++) {
            world_progress();
            ck_assert_int_eq(keel_pml_test(&recv, &done, &status), OPAL_SUCCESS);
        }
        ck_assert(done);
        bytes += status.bytes;
    }
    ck_assert_uint_eq(bytes, 8 + 16);
    ends(&outer, OPAL_SUCCESS);
    ends(&nested, OPAL_SUCCESS);
    stop();
}

/* As a callback of the data plane does that a module calls before its function returns. */
START_TEST(a_send_inside_of_a_send_has_a_number_of_its_own)
{
    send_inside_of_a_send(&calm);
    send_inside_of_a_send(&immediate);
}
END_TEST

UNIT_MAIN("pml-contexts")
