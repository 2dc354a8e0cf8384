/* Stdio on its way between the daemons and the front end; the windows are kept by the two ends. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/settings/log.h>
#include <stdlib.h>
#include <wireup/proto.h>

static void to_iof(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    orte_process_name_t peer = {hnp->identity.family, vpid};
    int status = rml_give(hnp->daemon->rml, &peer, OOB_STDIO, ORTE_RML_TAG_IOF_PROXY, buffer);
    if (status != ORTE_SUCCESS) {
        log_debug(LOG_LAUNCHER, "stdio for daemon %u is lost: %s", vpid, opal_strerror(status));
    }
}

/* What is lost here counts as written: the ranks must go on. */
static int take_output(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t rank, pid;
    uint8_t stream, *data;
    size_t size;
    int status = proto_unpack(buffer, "uucb", &rank, &pid, &stream, &data, &size);
    if (status == OPAL_SUCCESS && (rank >= hnp->plan.rank_count || (stream != 1 && stream != 2))) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS &&
        !channel_send(hnp->config.front,
                      proto_new(FRONT_OUTPUT, "uuuscb", vpid, rank, pid,
                                hnp->dvm.daemons[vpid].node, stream, data, size))) {
        job_output_lost(&hnp->job);
        to_iof(hnp, vpid, proto_new(IOF_OUTPUT_CREDIT, "u", (uint32_t) size));
    } else if (status == ORTE_ERR_OUT_OF_RESOURCE) {
        job_output_lost(&hnp->job);
    }
    free(data);
    return status;
}

static int take_drained(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint8_t lost;
    int status = proto_unpack(buffer, "c", &lost);
    if (status == OPAL_SUCCESS && lost) {
        job_output_lost(&hnp->job);
    }
    job_drained(&hnp->job, vpid);
    return status;
}

/* The front end may read on as far as all daemons' ranks have taken what there was. */
static void credit_input(struct hnp *hnp)
{
    uint64_t taken = UINT64_MAX;
    if (hnp->input.state != INPUT_OPEN) {
        return;
    }
    for (uint32_t vpid = 0; vpid < hnp->dvm.count; vpid++) {
        const struct peer *peer = &hnp->peers[vpid];
        taken = peer->takes_input && peer->input_taken < taken ? peer->input_taken : taken;
    }
    if (taken == UINT64_MAX) {
        hnp->input.state = INPUT_CLOSED;
        channel_send(hnp->config.front, proto_new(FRONT_INPUT_CLOSED, ""));
    } else if (taken > hnp->input.credited) {
        channel_send(hnp->config.front,
                     proto_new(FRONT_INPUT_CREDIT, "u", (uint32_t) (taken - hnp->input.credited)));
        hnp->input.credited = taken;
    }
}

static int take_input_credit(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t bytes;
    struct peer *peer = &hnp->peers[vpid];
    int status = proto_unpack(buffer, "u", &bytes);
    if (status == OPAL_SUCCESS && bytes > hnp->input.given - peer->input_taken) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        peer->input_taken += bytes;
        credit_input(hnp);
    }
    return status;
}

static int take_iof(struct hnp *hnp, uint32_t vpid, uint8_t kind, opal_buffer_t *buffer)
{
    switch (kind) {
    case IOF_OUTPUT:
        return take_output(hnp, vpid, buffer);
    case IOF_DRAINED:
        return take_drained(hnp, vpid, buffer);
    case IOF_INPUT_CREDIT:
        return take_input_credit(hnp, vpid, buffer);
    case IOF_INPUT_CLOSED:
        hnp_input_lost(hnp, vpid);
        return ORTE_SUCCESS;
    default:
        return ORTE_ERR_BAD_PARAM;
    }
}

static void from_iof(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct hnp *hnp = arg;
    uint8_t kind = 0;
    int status = proto_unpack(*buffer, "c", &kind);
    if (status == OPAL_SUCCESS) {
        status = info->origin.vpid < hnp->dvm.count
                     ? take_iof(hnp, info->origin.vpid, kind, *buffer)
                     : ORTE_ERR_PERM;
    }
    if (status != ORTE_SUCCESS) {
        log_error(LOG_LAUNCHER, "stdio of %s makes no sense: %s", ORTE_NAME_PRINT(&info->origin),
                  opal_strerror(status));
    }
}

void hnp_stdio_init(struct hnp *hnp)
{
    rml_handle(hnp->daemon->rml, ORTE_RML_TAG_IOF_HNP, from_iof, hnp);
}

void hnp_open_input(struct hnp *hnp)
{
    const struct run_request *request = &hnp->request;
    bool any = false;
    if (request->input == INPUT_NONE || hnp->input.state != INPUT_WAITING) {
        return;
    }
    for (uint32_t rank = 0; rank < hnp->plan.rank_count; rank++) {
        uint32_t vpid = hnp->daemon_of_node[hnp->plan.node_of[rank]];
        bool takes = request->input == INPUT_ALL || rank == request->input_rank;
        if (takes && hnp->job.parts[vpid] == PART_PENDING) {
            return; /* until its ranks are there */
        }
        takes &= !dvm_is_lost(&hnp->dvm, vpid);
        hnp->peers[vpid].takes_input |= takes;
        any |= takes;
    }
    if (any) {
        hnp->input.state = INPUT_OPEN;
        channel_send(hnp->config.front,
                     proto_new(FRONT_INPUT_CREDIT, "u", (uint32_t) IOF_INPUT_WINDOW));
    }
}

void hnp_input_lost(struct hnp *hnp, uint32_t vpid)
{
    if (hnp->peers[vpid].takes_input) {
        hnp->peers[vpid].takes_input = false;
        credit_input(hnp);
    }
}

void hnp_resize(struct hnp *hnp, opal_buffer_t *buffer)
{
    uint32_t rows, columns;
    if (proto_unpack(buffer, "uu", &rows, &columns) != OPAL_SUCCESS ||
        !window_make(&hnp->request.window, rows, columns)) {
        return;
    }
    if (job_has_ranks(&hnp->job)) {
        (void) !hnp_broadcast(hnp, proto_new(ORDER_WINDOW, "uu", rows, columns));
    }
}

void hnp_input(struct hnp *hnp, opal_buffer_t *buffer)
{
    uint8_t *data;
    size_t size;
    if (!hnp->daemon || proto_unpack(buffer, "b", &data, &size) != OPAL_SUCCESS) {
        return;
    }
    hnp->input.given += size;
    for (uint32_t vpid = 0; vpid < hnp->dvm.count; vpid++) {
        if (hnp->peers[vpid].takes_input) {
            to_iof(hnp, vpid, proto_new(IOF_INPUT, "b", data, size));
        }
    }
    free(data);
}

void hnp_written(struct hnp *hnp, opal_buffer_t *buffer)
{
    uint32_t source, bytes;
    if (proto_unpack(buffer, "uu", &source, &bytes) == OPAL_SUCCESS && source < hnp->dvm.count &&
        dvm_lives(&hnp->dvm, source)) {
        to_iof(hnp, source, proto_new(IOF_OUTPUT_CREDIT, "u", bytes));
    }
}

void hnp_output_closed(struct hnp *hnp, opal_buffer_t *buffer)
{
    uint8_t stream;
    if (proto_unpack(buffer, "c", &stream) != OPAL_SUCCESS) {
        return;
    }
    for (uint32_t vpid = 0; vpid < hnp->dvm.count; vpid++) {
        if (dvm_lives(&hnp->dvm, vpid)) {
            to_iof(hnp, vpid, proto_new(IOF_OUTPUT_CLOSED, "c", stream));
        }
    }
}
