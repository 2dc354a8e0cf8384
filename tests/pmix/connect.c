/* Connect and disconnect: everybody, twice; then only the first and the last. */
#include "pmix_test.h"

int main(void)
{
    begin();
    pmix_proc_t all = proc_of(PMIX_RANK_WILDCARD), two[2] = {proc_of(0), proc_of(size - 1)};
    for (int turn = 0; turn < 2; turn++) {
        expect(PMIX_SUCCESS, PMIx_Connect(&all, 1, NULL, 0), "connect");
        expect(PMIX_SUCCESS, PMIx_Disconnect(&all, 1, NULL, 0), "disconnect");
    }
    if (size > 1 && (me.rank == 0 || me.rank == size - 1)) {
        expect(PMIX_SUCCESS, PMIx_Connect(two, 2, NULL, 0), "connect two");
        expect(PMIX_SUCCESS, PMIx_Disconnect(two, 2, NULL, 0), "disconnect two");
    }
    return end("connect");
}
