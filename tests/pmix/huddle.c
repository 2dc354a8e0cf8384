/* huddle: all ranks but the first wait in a fence, for ever; each says "waits PID" once its server
 * knows. */
#include "pmix_test.h"

static void passed(pmix_status_t status, void *arg)
{
    (void) status;
    (void) arg;
}

int main(void)
{
    char key[32];
    pmix_info_t info;
    begin();
    if (me.rank > 0) {
        expect(PMIX_SUCCESS, PMIx_Fence_nb(NULL, 0, NULL, 0, passed, NULL), "PMIx_Fence_nb");
    }
    snprintf(key, sizeof(key), "rank %u", me.rank); /* answered after what was asked before */
    PMIX_INFO_LOAD(&info, key, "waits", PMIX_STRING);
    expect(PMIX_SUCCESS, PMIx_Publish(&info, 1), "PMIx_Publish");
    printf("waits %d\n", (int) getpid());
    fflush(stdout);
    sleep(60);
    return 1;
}
