/* Values that ranks put: after a fence that collects them, and one by one; fences of some ranks,
 * and one that some never come to. */
#include "pmix_test.h"

static void put(const char *key, uint32_t number)
{
    pmix_value_t value;
    PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
    expect(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
    expect(PMIX_SUCCESS, PMIx_Commit(), "PMIx_Commit");
}

static void fence_some(uint32_t first, uint32_t step, uint32_t count, pmix_status_t wanted,
                       int timeout)
{
    pmix_proc_t *procs = calloc(count, sizeof(*procs));
    pmix_info_t info;
    for (uint32_t i = 0; i < count; i++) {
        procs[i] = proc_of(first + i * step);
    }
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &timeout, PMIX_INT);
    expect(wanted, PMIx_Fence(procs, count, &info, timeout > 0 ? 1 : 0), "a fence of some");
    free(procs);
}

int main(void)
{
    bool yes = true;
    pmix_info_t collect;
    begin();
    put("test.collected", 1000 + me.rank);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    expect(PMIX_SUCCESS, PMIx_Fence(NULL, 0, &collect, 1), "a fence that collects");
    for (uint32_t rank = 0; rank < size; rank++) {
        check(get_number("test.collected", rank) == 1000 + rank, "a collected value");
    }
    put("test.direct", 2000 + me.rank);
    fence();
    for (uint32_t rank = 0; rank < size; rank++) {
        check(get_number("test.direct", rank) == 2000 + rank, "a value of one rank");
    }
    for (int turn = 0; turn < 3; turn++) {
        fence_some(me.rank % 2, 2, (size - me.rank % 2 + 1) / 2, PMIX_SUCCESS, 0);
        fence();
    }
    if (size > 1 && (me.rank == 0 || me.rank == size - 1)) { /* the first and the last; in time */
        fence_some(0, size - 1, 2, PMIX_SUCCESS, 20);
    }
    if (size > 1 && me.rank == 0) { /* with the last, which does not come */
        fence_some(0, size - 1, 2, PMIX_ERR_TIMEOUT, 1);
    }
    return end("fence");
}
