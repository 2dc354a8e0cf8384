/* Stdio on its way between the daemons and the front end; the windows are kept by the two ends. */
#include <config.h>

#include <launcher/hnp.h>

#include <base/log.h>
#include <bootstrap/proto.h>
#include <stdlib.h>

static uint32_t input_daemon(const struct hnp *hnp)
{
    return hnp->daemon_of_node[hnp->plan.node_of[0]];
}

static void to_iof(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    orte_process_name_t peer = {hnp->family, vpid};
    int status =
        rml_send(hnp->daemon->rml, &peer, OOB_STDIO, ORTE_RML_TAG_IOF_PROXY, &buffer, NULL, NULL);
    if (status != ORTE_SUCCESS) {
        log_debug(LOG_LAUNCHER, "stdio for daemon %u is lost: %s", vpid, opal_strerror(status));
        OBJ_RELEASE(buffer);
    }
}

static int take_output(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t rank = 0;
    uint8_t stream = 0;
    uint8_t *data = NULL;
    size_t size = 0;
    int status = proto_get(buffer, &rank, OPAL_UINT32);
    if (status == OPAL_SUCCESS) {
        status = proto_get(buffer, &stream, OPAL_UINT8);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_get_bytes(buffer, &data, &size);
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    opal_buffer_t *message = NULL;
    if (rank < hnp->plan.rank_count && (stream == 1 || stream == 2) &&
        (message = order_new(FRONT_OUTPUT))) {
        status = proto_put(message, &vpid, OPAL_UINT32);
        if (status == OPAL_SUCCESS) {
            status = proto_put(message, &rank, OPAL_UINT32);
        }
        if (status == OPAL_SUCCESS) {
            status = proto_put(message, &stream, OPAL_UINT8);
        }
        if (status == OPAL_SUCCESS) {
            status = proto_put_bytes(message, data, size);
        }
        channel_send(hnp->front, message);
    }
    free(data);
    return message ? status : ORTE_ERR_BAD_PARAM;
}

static void give_input_credit(struct hnp *hnp, uint32_t bytes)
{
    opal_buffer_t *message = order_new(FRONT_INPUT_CREDIT);
    if (message && proto_put(message, &bytes, OPAL_UINT32) == OPAL_SUCCESS) {
        channel_send(hnp->front, message);
    }
}

static int take_input_credit(struct hnp *hnp, opal_buffer_t *buffer)
{
    uint32_t bytes = 0;
    int status = proto_get(buffer, &bytes, OPAL_UINT32);
    if (status == OPAL_SUCCESS) {
        give_input_credit(hnp, bytes);
    }
    return status;
}

static int take_iof(struct hnp *hnp, uint32_t vpid, uint8_t kind, opal_buffer_t *buffer)
{
    switch (kind) {
    case IOF_OUTPUT:
        return take_output(hnp, vpid, buffer);
    case IOF_DRAINED:
        hnp->peers[vpid].state = PEER_DRAINED;
        hnp_check_drained(hnp);
        return ORTE_SUCCESS;
    case IOF_INPUT_CREDIT:
        return take_input_credit(hnp, buffer);
    case IOF_INPUT_CLOSED:
        channel_send(hnp->front, order_new(FRONT_INPUT_CLOSED));
        return ORTE_SUCCESS;
    default:
        return ORTE_ERR_BAD_PARAM;
    }
}

static void from_iof(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct hnp *hnp = arg;
    uint8_t kind = 0;
    int status = proto_get(*buffer, &kind, OPAL_UINT8);
    if (status == OPAL_SUCCESS) {
        status = info->origin.vpid < hnp->peer_count
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
    give_input_credit(hnp, IOF_INPUT_WINDOW);
}

void hnp_input(struct hnp *hnp, opal_buffer_t *buffer)
{
    uint8_t *data = NULL;
    size_t size = 0;
    if (!hnp->daemon || proto_get_bytes(buffer, &data, &size) != OPAL_SUCCESS) {
        return;
    }
    opal_buffer_t *message = order_new(IOF_INPUT);
    if (message && proto_put_bytes(message, data, size) == OPAL_SUCCESS) {
        to_iof(hnp, input_daemon(hnp), message);
    }
    free(data);
}

void hnp_written(struct hnp *hnp, opal_buffer_t *buffer)
{
    uint32_t source = 0, bytes = 0;
    if (proto_get(buffer, &source, OPAL_UINT32) != OPAL_SUCCESS ||
        proto_get(buffer, &bytes, OPAL_UINT32) != OPAL_SUCCESS || source >= hnp->peer_count ||
        hnp->peers[source].state == PEER_LOST) {
        return;
    }
    opal_buffer_t *message = order_new(IOF_OUTPUT_CREDIT);
    if (message && proto_put(message, &bytes, OPAL_UINT32) == OPAL_SUCCESS) {
        to_iof(hnp, source, message);
    }
}

void hnp_output_closed(struct hnp *hnp, opal_buffer_t *buffer)
{
    uint8_t stream = 0;
    if (proto_get(buffer, &stream, OPAL_UINT8) != OPAL_SUCCESS) {
        return;
    }
    for (uint32_t vpid = 0; vpid < hnp->peer_count; vpid++) {
        bool there = hnp->peers[vpid].state >= PEER_HOME && hnp->peers[vpid].state != PEER_LOST;
        opal_buffer_t *message = there ? order_new(IOF_OUTPUT_CLOSED) : NULL;
        if (message && proto_put(message, &stream, OPAL_UINT8) == OPAL_SUCCESS) {
            to_iof(hnp, vpid, message);
        }
    }
}
