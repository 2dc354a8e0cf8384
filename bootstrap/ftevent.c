/* keel_ft_event: a checkpoint or restart of the whole job, over both planes. */
#include <config.h>

#include <bootstrap/process.h>
#include <btl/plane/plane.h>
#include <keel/keel.h>

static int data_plane(int state)
{
    return plane_is_open() ? keel_host_ft_event(state) : ORTE_SUCCESS;
}

/* The first error counts, but every rank goes through all steps: the others wait for it. */
static int checkpoint(void)
{
    int first = data_plane(OPAL_CRS_CHECKPOINT);
    int status = process_fence();
    plane_read_all(); /* what the peers had written before the fence */
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
