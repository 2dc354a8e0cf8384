/* The parameter btl, in a build without libfabric: its ofi is linked in. */
#include <btl/modules/entry.h>
#include <string.h>
#include <tests/lib/unit.h>

/* The names of what a choice opens, each with a blank behind it. */
static const char *opens(const char *choice)
{
    static char names[64];
    char reason[300] = "";
    ck_assert_msg(btl_choice_check(choice, reason, sizeof(reason)) == ORTE_SUCCESS, "%s", reason);
    names[0] = '\0';
    for (size_t i = 0; btl_components[i]; i++) {
        const struct btl_component *entry = btl_components[i];
        const char *name = entry->component.btl_version.mca_component_name;
        if (btl_choice_opens(choice, entry)) {
            strcat(strcat(names, name), " ");
        }
    }
    return names;
}

START_TEST(lists_choose)
{
    ck_assert_str_eq(opens(""), "self sm tcp ");
    ck_assert_str_eq(opens("tcp"), "tcp ");
    ck_assert_str_eq(opens(" tcp ,\tself\n"), "self tcp ");
    ck_assert_str_eq(opens("^tcp"), "self sm ");
    ck_assert_str_eq(opens("^ tcp , sm"), "self ");
    ck_assert_str_eq(opens("^ofi"), "self sm tcp "); /* no mistake where none was built */
}
END_TEST

START_TEST(what_is_named_only_is_opened_only_by_its_name)
{
    for (size_t i = 0; btl_components[i]; i++) {
        const struct btl_component *entry = btl_components[i];
        if (entry->named_only) {
            const char *name = entry->component.btl_version.mca_component_name;
            ck_assert(!btl_choice_opens("", entry) && !btl_choice_opens("^tcp", entry));
            ck_assert(btl_choice_opens(name, entry));
        }
    }
}
END_TEST

START_TEST(mistakes_are_named)
{
    static const char *const table[][2] = {
        {",", "\",\": a name is empty"},
        {" ", "a name is empty"},
        {"^", "a name is empty"},
        {"self,", "a name is empty"},
        {"self,,tcp", "a name is empty"},
        {"self,sm,self", "self stands there twice"},
        {"^sm,sm", "sm stands there twice"},
        {"self,^sm", "a ^ may stand before the whole list only"},
        {"^^sm", "a ^ may stand before the whole list only"},
        {" ^sm", "a ^ may stand before the whole list only"},
        {"sm tcp", "no component \"sm tcp\"; there are self, sm, tcp"},
        {"se", "no component \"se\""},
        {"selfs", "no component \"selfs\""},
        {"self,ofi", "ofi needs libfabric, which this build lacks"},
        {"^self,sm,tcp,ofi", "no component is left"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        char reason[300] = "";
        ck_assert_int_eq(btl_choice_check(table[i][0], reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
        ck_assert_ptr_eq(strstr(reason, "parameter btl = \""), reason);
        ck_assert_msg(strstr(reason, table[i][1]) != NULL, "%s", reason);
    }
}
END_TEST

START_TEST(long_lists_fit_the_reason)
{
    char list[4096], reason[200] = "";
    memset(list, 'x', sizeof(list));
    list[sizeof(list) - 1] = '\0';
    ck_assert_int_eq(btl_choice_check(list, reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "xxx...\": no component \"xxx"));
    for (size_t i = 0; i < sizeof(list) - 1; i++) {
        list[i] = i % 2 ? ',' : 'a' + (i / 2) % 26;
    }
    ck_assert_int_eq(btl_choice_check(list, reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
}
END_TEST

UNIT_MAIN("choice")
