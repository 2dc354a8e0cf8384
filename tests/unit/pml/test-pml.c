/* How messages go to a PTL, over tests/unit/pml/world.h: tests/conformance/tagged shows what
 * keel/pml.h promises of them. */
#include <config.h>

#include <base/settings/log.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/ranks.h>

START_TEST(a_short_message_is_sent_at_once)
{
    start(&calm);
    struct keel_pml_request *send = isend(0, 1, 5, 8, STANDARD);
    struct keel_pml_status status;
    bool done = false;
    ck_assert_uint_eq(world.counts.packets, 1);
    ck_assert_int_eq(keel_pml_test(&send, &done, &status), OPAL_SUCCESS);
    ck_assert(done);
    ck_assert_uint_eq(status.bytes, 8);
    struct keel_pml_request *recv = irecv(1, 0, 5, 100);
    status = ends(&recv, OPAL_SUCCESS);
    expect(&status, 0, 5, 8);
    stop();
}
END_TEST

/* Neither end has a request or a fragment of the module for it. */
START_TEST(a_whole_message_goes_the_short_way)
{
    start(&immediate);
    for (size_t size = 0; size <= FIRST; size++) {
        memset(target, 0, sizeof(target));
        struct keel_pml_request *recv = irecv(1, 0, 5, 100), *send = isend(0, 1, 5, size, STANDARD);
        struct keel_pml_status status;
        ck_assert(is_done(&send, &status));
        ck_assert_int_eq(status.source, 1);
        ck_assert_int_eq(status.tag, 5);
        ck_assert_uint_eq(status.bytes, size);
        status = ends(&recv, OPAL_SUCCESS);
        expect(&status, 0, 5, size);
    }
    ck_assert_uint_eq(world.counts.sendis, FIRST); /* the first one found the paths */
    ck_assert_uint_eq(world.counts.matchis, FIRST + 1);
    ck_assert_uint_eq(world.counts.waiting_most, 0);
    stop();
}
END_TEST

START_TEST(the_short_way_ends_in_a_small_or_scattered_buffer)
{
    start(&immediate);
    const struct iovec parts[] = {{target, 3}, {target + 3, 4}, {target + 7, 20}};
    struct keel_pml_request *cut = irecv(1, 0, 5, 7), *scattered;
    opal_convertor_t data;
    ck_assert_int_eq(opal_convertor_prepare_iovec(&data, parts, 3), OPAL_SUCCESS);
    isend_and_forget(0, 1, 5, 10);
    struct keel_pml_status status = ends(&cut, OPAL_ERR_UNPACK_INADEQUATE_SPACE);
    ck_assert(status.truncated);
    ck_assert_uint_eq(status.bytes, 7);
    ck_assert_mem_eq(target, source, 7);
    ck_assert_int_eq(target[7], 0);
    ck_assert_int_eq(keel_pml_irecv(ctx[1], &data, 0, 5, &scattered), OPAL_SUCCESS);
    isend_and_forget(0, 1, 5, 12);
    status = ends(&scattered, OPAL_SUCCESS);
    expect(&status, 0, 5, 12);
    ck_assert_uint_eq(world.counts.matchis, 2);
    stop();
}
END_TEST

/* What is not posted, comes early, is to be acknowledged, or lies apart. */
START_TEST(others_do_not_go_the_short_way)
{
    start(&immediate);
    const struct iovec parts[] = {{source, 3}, {source + 3, 4}};
    opal_convertor_t data;
    struct keel_pml_request *send, *recv;
    isend_and_forget(0, 1, 5, 8); /* finds the paths */
    isend_and_forget(0, 1, 5, 8);
    world_progress();
    struct keel_pml_status status;
    for (int i = 0; i < 2; i++) {
        recv = irecv(1, 0, 5, 100);
        status = ends(&recv, OPAL_SUCCESS);
        expect(&status, 0, 5, 8);
    }
    recv = irecv(1, 0, 5, 100);
    send = isend(0, 1, 5, 8, SYNC);
    status = ends(&recv, OPAL_SUCCESS);
    expect(&status, 0, 5, 8);
    (void) ends(&send, OPAL_SUCCESS);
    ck_assert_uint_eq(world.counts.matchis, 0);
    ck_assert_uint_eq(world.counts.sendis, 1);
    ck_assert_int_eq(opal_convertor_prepare_iovec(&data, parts, 2), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_STANDARD, &send), OPAL_SUCCESS);
    recv = irecv(1, 0, 5, 100);
    status = ends(&recv, OPAL_SUCCESS);
    expect(&status, 0, 5, 7);
    (void) ends(&send, OPAL_SUCCESS);
    ck_assert_uint_eq(world.counts.sendis, 1);
    stop();
}
END_TEST

START_TEST(buffered_sends_hold_so_much_and_no_more)
{
    setenv("KEEL_MCA_pml_buffered_size", "3000", 1);
    start(&calm);
    struct keel_pml_request *send = isend(0, 1, 5, LONG, BUFFERED), *none = NULL;
    opal_convertor_t data = of(source, LONG);
    ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_BUFFERED, &none),
                     OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_ptr_null(none);
    ends(&send, OPAL_SUCCESS);
    struct keel_pml_request *recv = irecv(1, 0, 5, LONG);
    ends(&recv, OPAL_SUCCESS);
    for (int i = 0; i < 5; i++) {
        world_progress();
    }
    send = isend(0, 1, 6, LONG, BUFFERED);
    ends(&send, OPAL_SUCCESS);
    recv = irecv(1, 0, 6, LONG);
    ends(&recv, OPAL_SUCCESS);
    stop();
}
END_TEST

UNIT_MAIN("pml")
