/* Endpoints of libfabric's providers. */
#include <config.h>

#include <base/data/clock.h>
#include <btl/fabric/fabric.h>
#include <string.h>
#include <tests/lib/unit.h>

static const struct fabric_wanted datagrams = {
    .provider = "udp",
    .domain = "",
    .address = "127.0.0.1",
    .endpoint = FI_EP_DGRAM,
    .receives = 1,
};

static void wait_for(struct fabric *fabric, unsigned completions)
{
    uint64_t begin = clock_us();
    while (completions > 0) {
        struct fi_cq_msg_entry entry;
        ssize_t rc = fi_cq_read(fabric->cq, &entry, 1);
        ck_assert(rc == 1 || rc == -FI_EAGAIN);
        completions -= rc == 1;
        ck_assert(clock_us() - begin < 10000000);
    }
}

/* A datagram to myself. */
START_TEST(datagrams_go)
{
    struct fabric fabric = {0};
    char reason[300] = "", out[64] = "a datagram", in[64] = "";
    fi_addr_t me;
    int status = fabric_choose(&fabric, &datagrams, reason, sizeof(reason));
    ck_assert_msg(status == ORTE_SUCCESS, "%s", reason);
    ck_assert_int_eq(fabric.info->ep_attr->type, FI_EP_DGRAM);
    ck_assert_uint_ge(fabric.info->ep_attr->max_msg_size, sizeof(in));
    status = fabric_start(&fabric, &datagrams, reason, sizeof(reason));
    ck_assert_msg(status == ORTE_SUCCESS, "%s", reason);
    ck_assert(fabric.address.size > 0);
    ck_assert_int_eq(fabric_map(&fabric, 4096, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert(fabric_carve(&fabric, 1) + 64 == fabric_carve(&fabric, 1));
    ck_assert_int_eq(fi_av_insert(fabric.av, fabric.address.bytes, 1, &me, 0, NULL), 1);
    struct fi_context contexts[2];
    ck_assert_int_eq(fi_recv(fabric.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, &contexts[0]), 0);
    ck_assert_int_eq(fi_send(fabric.ep, out, sizeof(out), NULL, me, &contexts[1]), 0);
    wait_for(&fabric, 2);
    ck_assert_str_eq(in, out);
    fabric_close(&fabric);
    ck_assert(!fabric.ep && !fabric.memory);
}
END_TEST

START_TEST(a_reason_names_what_is_missing)
{
    struct fabric fabric = {0};
    struct fabric_wanted wanted = datagrams;
    char reason[300] = "";
    wanted.provider = "carrier pigeons";
    ck_assert_int_eq(fabric_choose(&fabric, &wanted, reason, sizeof(reason)),
                     ORTE_ERR_NOT_AVAILABLE);
    ck_assert_msg(strstr(reason, "no datagrams of provider \"carrier pigeons\""), "%s", reason);
    fabric_close(&fabric);
    wanted.endpoint = FI_EP_RDM;
    ck_assert_int_eq(fabric_choose(&fabric, &wanted, reason, sizeof(reason)),
                     ORTE_ERR_NOT_AVAILABLE);
    ck_assert_msg(strstr(reason, "no reliable datagrams of provider"), "%s", reason);
    fabric_close(&fabric);
}
END_TEST

START_TEST(errors_are_ours)
{
    static const struct {
        int fabric, ours;
    } errors[] = {
        {0, OPAL_SUCCESS},          {-FI_EAGAIN, OPAL_ERR_OUT_OF_RESOURCE},
        {FI_EACCES, OPAL_ERR_PERM}, {-FI_ENOSYS, ORTE_ERR_NOT_SUPPORTED},
        {FI_EIO, OPAL_ERR_UNREACH},
    };
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        ck_assert_int_eq(fabric_status(errors[i].fabric), errors[i].ours);
    }
}
END_TEST

UNIT_MAIN("fabric")
