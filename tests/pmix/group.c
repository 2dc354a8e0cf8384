/* Groups: everybody with a number, which all are told alike; a second one, with another; one of the
 * even ranks; the same name again after its end. */
#include "pmix_test.h"

/* The group's number; SIZE_MAX: none was asked for. */
static size_t construct(const char *name, const pmix_proc_t *procs, size_t count, bool numbered)
{
    bool yes = true;
    pmix_info_t info, *results = NULL;
    size_t result_count = 0, number = SIZE_MAX;
    PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    expect(
        PMIX_SUCCESS,
        PMIx_Group_construct(name, procs, count, &info, numbered ? 1 : 0, &results, &result_count),
        "PMIx_Group_construct");
    for (size_t i = 0; i < result_count; i++) {
        if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID)) {
            number = results[i].value.data.size;
        }
    }
    check(!numbered || number != SIZE_MAX, "a group's number");
    return number;
}

static void destruct(const char *name)
{
    expect(PMIX_SUCCESS, PMIx_Group_destruct(name, NULL, 0), "PMIx_Group_destruct");
}

/* Everybody has the same? */
static void compare(const char *key, size_t number)
{
    bool yes = true;
    pmix_info_t collect;
    pmix_value_t value, *its;
    PMIX_VALUE_LOAD(&value, &number, PMIX_SIZE);
    expect(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
    expect(PMIX_SUCCESS, PMIx_Commit(), "PMIx_Commit");
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    expect(PMIX_SUCCESS, PMIx_Fence(NULL, 0, &collect, 1), "PMIx_Fence");
    for (uint32_t rank = 0; rank < size; rank++) {
        pmix_proc_t proc = proc_of(rank);
        expect(PMIX_SUCCESS, PMIx_Get(&proc, key, NULL, 0, &its), "PMIx_Get");
        check(its->data.size == number, "the number of another member");
        PMIX_VALUE_RELEASE(its);
    }
}

int main(void)
{
    begin();
    pmix_proc_t *procs = calloc(size, sizeof(*procs));
    for (uint32_t rank = 0; rank < size; rank++) {
        procs[rank] = proc_of(rank);
    }
    size_t first = construct("all", procs, size, true);
    size_t second = construct("again", procs, size, true);
    check(first != second, "two numbers");
    compare("test.first", first);
    compare("test.second", second);
    destruct("again");
    destruct("all");
    check(construct("all", procs, size, true) != first, "a number that is not given again");
    destruct("all");
    if (me.rank % 2 == 0) {
        for (uint32_t i = 0; i < (size + 1) / 2; i++) {
            procs[i] = proc_of(2 * i);
        }
        construct("even", procs, (size + 1) / 2, false);
        destruct("even");
    }
    free(procs);
    return end("group");
}
