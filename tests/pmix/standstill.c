/* Ranks that connect with a time limit, of which one does not come: libpmix 4.2.2 sets its timer
 * twice then, and its server's thread may never do anything else again. What the launcher does then
 * is the test's matter. */
#include "pmix_test.h"

int main(void)
{
    int limit = 1;
    pmix_info_t info;
    begin();
    check(size == 3, "three ranks");
    pmix_proc_t procs[3] = {proc_of(0), proc_of(1), proc_of(2)};
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &limit, PMIX_INT);
    if (me.rank == 1) {
        usleep(300000);
    }
    if (me.rank != 2) {
        (void) PMIx_Connect(procs, 3, &info, 1);
    }
    for (int turn = 0; turn < 20; turn++) {
        fence();
    }
    return end("standstill");
}
