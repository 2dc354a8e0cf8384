#include <rml/state/circle.h>
#include <tests/lib/unit.h>

static orte_process_name_t name_of(uint32_t i)
{
    return (orte_process_name_t){0x50001 + i % 3, i / 3};
}

struct sum {
    uint32_t count;
    uint64_t vpids;
};

static void add_up(void *arg, const orte_process_name_t *name)
{
    struct sum *sum = arg;
    sum->count++;
    sum->vpids += name->vpid;
}

START_TEST(each_once)
{
    struct rml_circle circle = {0};
    struct sum sum = {0};
    uint64_t vpids = 0;
    rml_circle_each(&circle, add_up, &sum);
    ck_assert_uint_eq(sum.count, 0);
    for (uint32_t i = 0; i < 1000; i++) {
        orte_process_name_t name = name_of(i);
        vpids += name.vpid;
        ck_assert_int_eq(rml_circle_add(&circle, &name), RML_CIRCLE_NEW);
        ck_assert_int_eq(rml_circle_add(&circle, &name), RML_CIRCLE_KNOWN);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        orte_process_name_t name = name_of(i);
        ck_assert_int_eq(rml_circle_add(&circle, &name), RML_CIRCLE_KNOWN);
    }
    rml_circle_each(&circle, add_up, &sum);
    ck_assert_uint_eq(sum.count, 1000);
    ck_assert_uint_eq(sum.vpids, vpids);
    rml_circle_fini(&circle);
    ck_assert_uint_eq(circle.count, 0);
    ck_assert_int_eq(rml_circle_add(&circle, &(orte_process_name_t){1, 2}), RML_CIRCLE_NEW);
    rml_circle_fini(&circle);
}
END_TEST

START_TEST(no_more_than_its_limit)
{
    struct rml_circle circle = {0};
    orte_process_name_t name = {7, 0};
    for (name.vpid = 0; name.vpid < RML_CIRCLE_MAX; name.vpid++) {
        ck_assert_int_eq(rml_circle_add(&circle, &name), RML_CIRCLE_NEW);
    }
    ck_assert_int_eq(rml_circle_add(&circle, &name), RML_CIRCLE_FULL);
    name.vpid = 5;
    ck_assert_int_eq(rml_circle_add(&circle, &name), RML_CIRCLE_KNOWN);
    ck_assert_uint_eq(circle.count, RML_CIRCLE_MAX);
    ck_assert_uint_le(circle.size, 2 * RML_CIRCLE_MAX);
    rml_circle_fini(&circle);
}
END_TEST

UNIT_MAIN("rml/circle")
