/* The order to start other daemons: it comes back as it was, and what makes no sense is refused. */
#include <config.h>

#include <launcher/node/onward.h>
#include <string.h>
#include <tests/lib/decoder.h>
#include <tests/lib/unit.h>
#include <wireup/proto.h>

static char *words[] = {(char *) "ssh", (char *) "-x", NULL}, *program[] = {(char *) "keeld", NULL};
static char *nothing[] = {NULL};
static struct start_node nodes[] = {{2, (char *) "n2", (char *) "n2"},
                                    {3, (char *) "n3", (char *) "me@n3"}};

static struct start_order example(void)
{
    return (struct start_order){words, program, 64, 3, 20000, 2, nodes};
}

static opal_buffer_t *packed(const struct start_order *order)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(start_order_pack(buffer, order), ORTE_SUCCESS);
    return buffer;
}

START_TEST(test_it_comes_back)
{
    struct start_order order = example(), read;
    opal_buffer_t *buffer = packed(&order);
    ck_assert_int_eq(start_order_unpack(buffer, &read), ORTE_SUCCESS);
    ck_assert_str_eq(read.words[1], "-x");
    ck_assert_ptr_null(read.words[2]);
    ck_assert_str_eq(read.program[0], "keeld");
    ck_assert_uint_eq(read.max, 64);
    ck_assert_uint_eq(read.retries, 3);
    ck_assert_uint_eq(read.limit_ms, 20000);
    ck_assert_uint_eq(read.count, 2);
    ck_assert_uint_eq(read.nodes[1].vpid, 3);
    ck_assert_str_eq(read.nodes[1].node, "n3");
    ck_assert_str_eq(read.nodes[1].host, "me@n3");
    start_order_fini(&read);
    start_order_fini(&read);
    OBJ_RELEASE(buffer);
}
END_TEST

static void refused(const struct start_order *order)
{
    struct start_order read = {.max = 4711}, before = read;
    opal_buffer_t *buffer = packed(order);
    ck_assert_int_ne(start_order_unpack(buffer, &read), ORTE_SUCCESS);
    ck_assert(memcmp(&read, &before, sizeof(read)) == 0);
    OBJ_RELEASE(buffer);
}

START_TEST(test_what_makes_no_sense_is_refused)
{
    static const struct start_node bad[] = {
        {0, (char *) "n", (char *) "n"},
        {1, (char *) "", (char *) "n"},
        {1, (char *) "n", (char *) ""},
        {1, (char *) "n", (char *) "-oProxyCommand=x"},
    };
    struct start_order order = example();
    order.words = nothing;
    refused(&order);
    order = example();
    order.program = nothing;
    refused(&order);
    order = example();
    order.count = 0;
    refused(&order);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct start_node node = bad[i];
        order = (struct start_order){words, program, 1, 0, 1, 1, &node};
        refused(&order);
    }
}
END_TEST

START_TEST(test_more_nodes_than_bytes)
{
    struct start_order read;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(proto_pack_strings(buffer, words), ORTE_SUCCESS);
    ck_assert_int_eq(proto_pack_strings(buffer, program), ORTE_SUCCESS);
    ck_assert_int_eq(proto_pack(buffer, "uuuu", 1u, 0u, 1u, UINT32_MAX), ORTE_SUCCESS);
    ck_assert_int_eq(start_order_unpack(buffer, &read), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    OBJ_RELEASE(buffer);
    struct start_order order = example();
    buffer = packed(&order);
    ck_assert_int_eq(proto_pack(buffer, "c", (uint8_t) 0), ORTE_SUCCESS);
    ck_assert_int_ne(start_order_unpack(buffer, &read), ORTE_SUCCESS); /* a byte too many */
    OBJ_RELEASE(buffer);
}
END_TEST

static int unpack(opal_buffer_t *buffer, void *out)
{
    return start_order_unpack(buffer, out);
}

static void fini(void *read)
{
    start_order_fini(read);
}

static void check(const void *read)
{
    const struct start_order *order = read;
    ck_assert(order->words[0] && order->program[0] && order->count > 0);
    for (uint32_t i = 0; i < order->count; i++) {
        ck_assert_uint_ne(order->nodes[i].vpid, 0);
        ck_assert(order->nodes[i].node[0] && order->nodes[i].host[0]);
    }
}

static const struct decoder decoder = {unpack, fini, check, sizeof(struct start_order)};

START_TEST(test_noise)
{
    struct start_order order = example();
    decoder_refuses_beginnings(&decoder, packed(&order));
    decoder_survives_noise(&decoder, packed(&order));
}
END_TEST

UNIT_MAIN("onward")
