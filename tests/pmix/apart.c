/* A job that hangs after a fence: rank 1 stays away, rank 2 wants to connect with all, and the
 * others wait for both in the next fence. */
#include "pmix_test.h"

int main(void)
{
    begin();
    fence();
    printf("rank %u\n", me.rank);
    fflush(stdout);
    if (me.rank == 1) {
        pause();
    }
    if (me.rank == 2) {
        pmix_proc_t all = proc_of(PMIX_RANK_WILDCARD);
        (void) PMIx_Connect(&all, 1, NULL, 0);
    }
    fence();
    return 1;
}
