/* keel_ft_event: a checkpoint or restart of the whole job, over both planes. */
#include <config.h>

#include <base/log.h>
#include <bootstrap/process.h>
#include <btl/base.h>
#include <keel/keel.h>

/* So many passes without an event mean that nothing is left to be read: idle rails are polled now and
 * then only (btl/progress.c), and quiet sockets now and then by those. */
#define EMPTY_PASSES 2048
/* A bound for the above: more than any queue holds. */
#define PASSES_MAX (1 << 20)

static int data_plane(int state)
{
    if (!process_data_plane_enter()) {
        return process_has_data_plane() ? ORTE_ERR_RESOURCE_BUSY : ORTE_SUCCESS;
    }
    int status = btl_ft_event(state);
    if (state == OPAL_CRS_RESTART) {
        process_restore_rails();
    }
    process_data_plane_leave();
    return status;
}

/* What the peers had written before the fence lies here, and is read now. */
static void read_all(void)
{
    int empty = 0;
    for (int i = 0; i < PASSES_MAX && empty < EMPTY_PASSES; i++) {
        if (!process_data_plane_enter()) {
            return;
        }
        int events = btl_progress();
        process_data_plane_leave();
        empty = events > 0 ? 0 : empty + 1;
    }
}

/* The first error counts, but every rank goes through all steps: the others wait for it. */
static int checkpoint(void)
{
    int first = data_plane(OPAL_CRS_CHECKPOINT);
    int status = process_fence();
    read_all();
    if (status == ORTE_SUCCESS) {
        status = process_fence(); /* until here it answered its peers */
    }
    first = first == ORTE_SUCCESS ? status : first;
    status = orte_rml.ft_event(OPAL_CRS_CHECKPOINT);
    return first == ORTE_SUCCESS ? status : first;
}

static int restart(void)
{
    int status = orte_rml.ft_event(OPAL_CRS_RESTART);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    int first = data_plane(OPAL_CRS_RESTART);
    status = process_fence(); /* publishes the new cards */
    if (status == ORTE_SUCCESS) {
        status = process_fence(); /* nobody sends before everybody has them */
    }
    return first == ORTE_SUCCESS ? status : first;
}

static int go_on(int state)
{
    int first = orte_rml.ft_event(state);
    int status = data_plane(state);
    return first == ORTE_SUCCESS ? status : first;
}

int keel_ft_event(int state)
{
    if (state < OPAL_CRS_NONE || state > OPAL_CRS_ERROR) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (!process_map()) {
        return ORTE_ERR_COMM_DISABLED;
    }
    if (process_in_callback()) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    if (!process_meet_begin()) {
        return ORTE_ERR_RESOURCE_BUSY;
    }
    int status = state == OPAL_CRS_CHECKPOINT ? checkpoint()
                 : state == OPAL_CRS_RESTART  ? restart()
                                              : go_on(state);
    process_meet_end();
    return status;
}
