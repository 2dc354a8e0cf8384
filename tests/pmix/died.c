/* The last rank dies; the others hear of it as an event, before they are made to end. */
#include "pmix_test.h"

#include <signal.h>
#include <stdatomic.h>

static void happened(size_t handler, pmix_status_t code, const pmix_proc_t *source,
                     pmix_info_t info[], size_t info_count, pmix_info_t results[],
                     size_t result_count, pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    (void) handler;
    (void) results;
    (void) result_count;
    for (size_t i = 0; i < info_count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) {
            dprintf(STDOUT_FILENO, "%s of rank %u\n", PMIx_Error_string(code),
                    info[i].value.data.proc->rank);
        }
    }
    (void) source;
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
    _exit(0);
}

static atomic_bool registered;

static void is_registered(pmix_status_t status, size_t handler, void *cbdata)
{
    (void) handler;
    (void) cbdata;
    atomic_store(&registered, status == PMIX_SUCCESS);
}

int main(void)
{
    pmix_status_t code = PMIX_ERR_PROC_ABORTED;
    signal(SIGTERM, SIG_IGN); /* there is time until SIGKILL */
    begin();
    PMIx_Register_event_handler(&code, 1, NULL, 0, happened, is_registered, NULL);
    while (!atomic_load(&registered)) {
        usleep(1000);
    }
    fence();
    if (me.rank == size - 1) {
        raise(SIGKILL);
    }
    sleep(20);
    return 1;
}
