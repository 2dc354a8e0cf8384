/* Peers that end while parts of a message are under way: tests/conformance/tagged has the rest. */
#include <config.h>

#include <base/settings/log.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/ranks.h>

/* ---- peers that end ---- */

START_TEST(sends_that_wait_for_room_end_with_their_peer)
{
    struct world_rules rules = calm;
    struct keel_pml_request *sends[10];
    rules.room = 1;
    start(&rules);
    world.halted = true;
    for (int i = 0; i < 10; i++) {
        sends[i] = isend(0, 1, i, i % 2 ? 8 : LONG, i % 4 == 3 ? BUFFERED : STANDARD);
    }
    world_kill(1);
    for (int i = 0; i < 10; i++) {
        ends(&sends[i], i % 4 == 3 ? OPAL_SUCCESS : OPAL_ERR_UNREACH);
    }
    stop();
}
END_TEST

START_TEST(sends_whose_rest_is_under_way_end_with_their_peer)
{
    struct world_rules rules = calm;
    rules.late = true;
    for (int room = 0; room < 4; room++) {
        rules.room = (size_t) room;
        start(&rules);
        struct keel_pml_request *recv = irecv(1, 0, 5, LONG);
        struct keel_pml_request *send = isend(0, 1, 5, LONG, STANDARD);
        world.stuck = WORLD_FRAG;
        never_ends(&send);
        world_kill(1);
        ends(&send, OPAL_ERR_UNREACH);
        (void) recv;
        stop();
    }
}
END_TEST

static void receive_from_a_peer_that_ends(const struct world_rules *rules, int stuck)
{
    start(rules);
    struct keel_pml_request *recv = irecv(0, 1, 5, LONG);
    struct keel_pml_request *send = isend(1, 0, 5, LONG, STANDARD);
    world.stuck = stuck;
    never_ends(&recv);
    world_kill(1);
    ends(&recv, OPAL_ERR_UNREACH);
    (void) send;
    stop();
}

START_TEST(receives_end_with_their_peer)
{
    receive_from_a_peer_that_ends(&calm, WORLD_FIRST);
    receive_from_a_peer_that_ends(&calm, WORLD_ACK);
    receive_from_a_peer_that_ends(&calm, WORLD_FRAG);
    receive_from_a_peer_that_ends(&fetching, WORLD_FETCHED);
}
END_TEST

/* A message ahead of one that was lost will never have its turn. */
START_TEST(what_came_ahead_of_its_turn_is_given_back)
{
    start(&calm);
    world.holds = true;
    world.held_tag = 5;
    struct keel_pml_request *first = isend(1, 0, 5, 8, STANDARD);
    struct keel_pml_request *second = isend(1, 0, 6, 8, STANDARD);
    struct keel_pml_request *recv = irecv(0, 1, ANY_TAG, LONG);
    never_ends(&recv);
    ck_assert_uint_eq(world.waiting, 1);
    world_kill(1);
    ends(&recv, OPAL_ERR_UNREACH);
    ck_assert_uint_eq(world.waiting, 0);
    (void) first, (void) second;
    stop();
}
END_TEST

START_TEST(blocking_calls_end_with_their_peer)
{
    for (int call = 0; call < 4; call++) {
        struct keel_pml_message *message;
        opal_convertor_t data = of(source, LONG);
        start(&calm);
        world.doom = 10;
        world.doomed = 1;
        int status = call == 0   ? keel_pml_send(ctx[0], &data, 1, 5, KEEL_PML_STANDARD)
                     : call == 1 ? keel_pml_recv(ctx[0], &data, 1, 5, NULL)
                     : call == 2 ? keel_pml_probe(ctx[0], 1, 5, NULL)
                                 : keel_pml_mprobe(ctx[0], 1, 5, &message, NULL);
        ck_assert_int_eq(status, OPAL_ERR_UNREACH);
        stop();
    }
}
END_TEST

/* A message was lost meanwhile: what waits for it must not wait for ever. */
START_TEST(a_way_that_was_away_is_lost)
{
    start(&calm);
    world.halted = true;
    struct keel_pml_request *send = isend(1, 0, 5, 8, STANDARD);
    struct keel_pml_request *recv = irecv(0, 1, 5, 8);
    world_flap(1);
    world.halted = false;
    ends(&send, OPAL_SUCCESS);
    ends(&recv, OPAL_ERR_UNREACH);
    struct keel_pml_request *none = NULL;
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, 1, 5, KEEL_PML_STANDARD, &none),
                     OPAL_ERR_UNREACH);
    ck_assert_int_eq(keel_pml_irecv(ctx[0], NULL, 1, 5, &none), OPAL_ERR_UNREACH);
    stop();
}
END_TEST

/* The receiver has sent nothing to its sender, nor asked for anything of its. */
START_TEST(an_announced_message_ends_with_its_sender)
{
    start(&calm);
    struct keel_pml_request *send = isend(1, 0, 5, LONG, STANDARD);
    world_progress();
    world_flap(1);
    world_flap(0);
    struct keel_pml_request *recv = irecv(0, 1, 5, LONG);
    ends(&recv, OPAL_ERR_UNREACH);
    ends(&send, OPAL_ERR_UNREACH);
    stop();
}
END_TEST

START_TEST(a_module_that_takes_nothing_is_an_error)
{
    opal_convertor_t data = of(source, 8);
    struct keel_pml_request *request = NULL;
    start(&calm);
    world.send_status = OPAL_ERR_FATAL;
    ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_STANDARD, &request),
                     OPAL_ERR_FATAL);
    ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_BUFFERED, &request),
                     OPAL_ERR_FATAL);
    ck_assert_ptr_null(request);
    world.send_status = OPAL_SUCCESS;
    /* It counts for nothing: the next message has its number. */
    struct keel_pml_request *send = isend(0, 1, 5, 8, STANDARD);
    request = irecv(1, 0, 5, 8);
    ends(&request, OPAL_SUCCESS);
    ends(&send, OPAL_SUCCESS);
    world.put_status = OPAL_ERR_FATAL;
    request = irecv(1, 0, 6, LONG);
    send = isend(0, 1, 6, LONG, STANDARD);
    ends(&send, OPAL_ERR_FATAL);
    world_kill(0);
    ends(&request, OPAL_ERR_UNREACH);
    stop();
}
END_TEST

/* Pieces of it are still under way. */
START_TEST(a_send_that_has_failed_is_told_no_more)
{
    struct world_rules rules = calm;
    rules.late = true;
    rules.room = 2;
    start(&rules);
    struct keel_pml_request *recv = irecv(1, 0, 6, LONG);
    struct keel_pml_request *send = isend(0, 1, 6, LONG, STANDARD);
    world.stuck = WORLD_FRAG;
    never_ends(&send);
    ck_assert_uint_ge(world.counts.packets, 4);
    world.put_status = OPAL_ERR_FATAL;
    world.rules.room = 0;
    ends(&send, OPAL_ERR_FATAL);
    world.put_status = OPAL_SUCCESS;
    send = isend(0, 1, 7, 8, SYNC); /* in the place of the other one */
    world.stuck = 0;
    never_ends(&send);
    world_kill(1);
    ends(&send, OPAL_ERR_UNREACH);
    (void) recv;
    stop();
}
END_TEST

START_TEST(a_fetch_that_fails_is_an_error)
{
    start(&fetching);
    world.put_status = OPAL_ERR_FATAL;
    struct keel_pml_request *recv = irecv(1, 0, 6, LONG);
    struct keel_pml_request *send = isend(0, 1, 6, LONG, STANDARD);
    ends(&recv, OPAL_ERR_FATAL);
    ends(&send, OPAL_SUCCESS);
    stop();
}
END_TEST

UNIT_MAIN("pml-ends")
