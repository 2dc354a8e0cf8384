#include <config.h>

#include <launcher/node/orders/home.h>
#include <launcher/node/orders/hosting.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <wireup/proto.h>

static char one[] = "A=1", two[] = "B=a\nb", none[] = "";
static char *env[] = {one, two, none, NULL};
static uint8_t text[HOME_SIZE_MAX + 1] = "keel 2";

static opal_buffer_t *pack(uint32_t mask, size_t size)
{
    struct hosting hosting = {mask, env, text, size};
    opal_buffer_t *buffer = proto_new_bare("");
    ck_assert_int_eq(hosting_pack(buffer, &hosting), ORTE_SUCCESS);
    return buffer;
}

static int unpack(opal_buffer_t *buffer, struct hosting *hosting)
{
    int status = hosting_unpack(buffer, hosting);
    OBJ_RELEASE(buffer);
    return status;
}

START_TEST(test_a_hosting_comes_back)
{
    struct hosting hosting;
    ck_assert_int_eq(unpack(pack(027, 6), &hosting), ORTE_SUCCESS);
    ck_assert_uint_eq(hosting.mask, 027);
    ck_assert_uint_eq(hosting.size, 6);
    ck_assert_mem_eq(hosting.text, "keel 2", 6);
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(hosting.env[i], env[i]);
    }
    ck_assert_ptr_null(hosting.env[3]);
    hosting_fini(&hosting);
    hosting_fini(&hosting);
}
END_TEST

START_TEST(test_what_cannot_be_is_refused)
{
    struct hosting hosting;
    ck_assert_int_ne(unpack(pack(01000, 6), &hosting), ORTE_SUCCESS);
    ck_assert_int_ne(unpack(pack(0, 0), &hosting), ORTE_SUCCESS);
    ck_assert_int_ne(unpack(pack(0, HOME_SIZE_MAX + 1), &hosting), ORTE_SUCCESS);
    ck_assert_int_eq(unpack(pack(0, HOME_SIZE_MAX), &hosting), ORTE_SUCCESS);
    hosting_fini(&hosting);
    opal_buffer_t *longer = pack(0, 6);
    ck_assert_int_eq(proto_pack(longer, "c", (uint8_t) 0), ORTE_SUCCESS);
    ck_assert_int_ne(unpack(longer, &hosting), ORTE_SUCCESS);
    ck_assert(!hosting.text && !hosting.env);
}
END_TEST

START_TEST(test_every_shorter_one_is_refused)
{
    opal_buffer_t *whole = pack(022, 6);
    for (size_t size = 0; size < whole->bytes_used; size++) {
        struct hosting hosting;
        opal_buffer_t *part = OBJ_NEW(opal_buffer_t);
        char *copy = malloc(size + !size);
        memcpy(copy, whole->base_ptr, size);
        ck_assert_int_eq(opal_dss.load(part, copy, (int32_t) size), ORTE_SUCCESS);
        ck_assert_int_ne(unpack(part, &hosting), ORTE_SUCCESS);
    }
    OBJ_RELEASE(whole);
}
END_TEST

START_TEST(test_a_daemon_serves_a_hundred_jobs_at_most)
{
    ck_assert(hosting_serves_on(1, 4096));
    ck_assert(hosting_serves_on(99, 4096));
    ck_assert(!hosting_serves_on(100, 4096));
    ck_assert(!hosting_serves_on(UINT32_MAX, 4096));
}
END_TEST

START_TEST(test_a_daemon_that_has_grown_above_64_MiB_serves_no_more)
{
    ck_assert(hosting_serves_on(1, 65536));
    ck_assert(!hosting_serves_on(1, 65537));
}
END_TEST

UNIT_MAIN("hosting")
