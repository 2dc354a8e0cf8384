#include <rml/delivery/credit.h>
#include <tests/lib/unit.h>

enum { FRAME = RML_LINK_WINDOW / 8 };

START_TEST(a_window_and_no_more)
{
    struct rml_credit credit;
    struct rml_grant grant;
    rml_credit_begin(&credit);
    rml_grant_begin(&grant);
    for (int i = 0; i < 8; i++) {
        ck_assert(rml_credit_take(&credit, FRAME));
        ck_assert(rml_grant_came(&grant, FRAME));
    }
    ck_assert(!rml_credit_take(&credit, 1));
    ck_assert(!rml_grant_came(&grant, 1));
    ck_assert(!rml_grant_left(&grant, FRAME)); /* a little is not worth a word */
    ck_assert(rml_grant_left(&grant, FRAME));
    ck_assert(rml_credit_raise(&credit, rml_grant_tell(&grant)));
    ck_assert(rml_credit_take(&credit, 2 * FRAME));
    ck_assert(!rml_credit_take(&credit, 1));
}
END_TEST

START_TEST(impossible_limits)
{
    struct rml_credit credit;
    rml_credit_begin(&credit);
    ck_assert(!rml_credit_raise(&credit, RML_LINK_WINDOW - 1));
    ck_assert(!rml_credit_raise(&credit, RML_LINK_WINDOW + 1));
    ck_assert(!rml_credit_raise(&credit, UINT64_MAX));
    ck_assert(rml_credit_raise(&credit, RML_LINK_WINDOW));
}
END_TEST

UNIT_MAIN("rml/credit")
