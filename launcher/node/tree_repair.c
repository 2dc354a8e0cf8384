#include <config.h>

#include <launcher/node/tree_repair.h>

#include <base/settings/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <wireup/proto.h>

/* Those below would have to find out by themselves, which takes long where keelrun does not answer.
 */
void repair_hnp_gone(struct daemon *daemon, const char *reason)
{
    log_info(LOG_LAUNCHER, "keelrun is gone: %s", reason);
    for (uint32_t vpid = daemon->name.vpid + 1; vpid < daemon->tree.count; vpid++) {
        if (rml_parent_of(daemon->rml, vpid) == daemon->name.vpid &&
            !rml_is_lost(daemon->rml, vpid)) {
            (void) daemon_order(daemon, vpid, proto_new(ORDER_GONE, ""));
        }
    }
    daemon->ops->cut_off(daemon->arg);
}

void repair_lose(struct daemon *daemon, uint32_t lost)
{
    int status = rml_lose_daemon(daemon->rml, lost);
    if (status == ORTE_SUCCESS) {
        allgather_daemon_lost(daemon->allgather, lost);
        server_daemon_lost(daemon->server, lost);
    } else if (status != ORTE_EXISTS) {
        log_error(LOG_LAUNCHER, "cannot go on without daemon %u: %s", lost, opal_strerror(status));
    }
}

int repair_take_lost(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint32_t lost;
    int status = proto_unpack(buffer, "u", &lost);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (lost == daemon->name.vpid) {
        repair_hnp_gone(daemon, "it takes this daemon for lost");
    } else if (lost < daemon->tree.count) { /* else it was to be added: ORDER_GROW says so again */
        repair_lose(daemon, lost);
    }
    return ORTE_SUCCESS;
}

int repair_take_ended(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint32_t count;
    int status = proto_unpack(buffer, "u", &count);
    if (status != OPAL_SUCCESS || count > proto_left(buffer) / sizeof(uint32_t)) {
        return ORTE_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    }
    uint32_t *ranks = calloc((size_t) count + 1, sizeof(*ranks));
    for (uint32_t i = 0; ranks && status == OPAL_SUCCESS && i < count; i++) {
        status = proto_unpack(buffer, "u", &ranks[i]);
    }
    if (ranks && status == OPAL_SUCCESS) {
        server_ranks_ended(daemon->server, daemon->launch.map.jobid, ranks, count);
    }
    free(ranks);
    return ranks ? status : ORTE_ERR_OUT_OF_RESOURCE;
}

/* --- without a parent --- */

static void at_hnp(void *arg, int status, const char *reason)
{
    struct daemon *daemon = arg;
    if (status != ORTE_SUCCESS) {
        repair_hnp_gone(daemon, reason ? reason : opal_strerror(status));
        return;
    }
    uint32_t parent = rml_parent_of(daemon->rml, daemon->name.vpid);
    daemon_report(daemon, proto_new(REPORT_ORPHAN, "us", parent, daemon->tree.homeless_why));
}

void repair_begin(struct daemon *daemon, const char *why)
{
    log_info(LOG_LAUNCHER, "the parent daemon %u is gone: %s",
             rml_parent_of(daemon->rml, daemon->name.vpid), why);
    daemon->tree.homeless = true;
    snprintf(daemon->tree.homeless_why, sizeof(daemon->tree.homeless_why), "%s", why);
    uint64_t grace_us = rml_lifeline_grace_us(); /* a suspended HNP answers nothing */
    int status = rml_connect(daemon->rml, daemon->hnp_contact, OOB_KEY_CONTROL,
                             grace_us ? grace_us : UINT64_MAX, at_hnp, daemon);
    if (status != ORTE_SUCCESS) {
        repair_hnp_gone(daemon, opal_strerror(status));
    }
}

void repair_linked(struct daemon *daemon, uint8_t report)
{
    orte_process_name_t hnp = {daemon->name.jobid, HNP_VPID};
    uint32_t parent = rml_parent_of(daemon->rml, daemon->name.vpid);
    log_info(LOG_LAUNCHER, "daemon %u is the parent now", parent);
    daemon->tree.homeless = false;
    rml_rejoin(daemon->rml);
    if (parent != HNP_VPID) {
        rml_disconnect(daemon->rml, &hnp, true);
    }
    daemon_report(daemon, proto_new(report, ""));
}

static void parent_linked(void *arg, int status, const char *reason)
{
    struct daemon *daemon = arg;
    char why[LINK_WHY_BYTES];
    if (status == ORTE_SUCCESS) {
        repair_linked(daemon, REPORT_REHOMED);
        return;
    }
    snprintf(why, sizeof(why), "it cannot be reached from node %s: %s", daemon->node,
             reason ? reason : opal_strerror(status));
    repair_begin(daemon, why); /* that one is lost, too */
}

int repair_take_losses(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint32_t count, lost;
    int status = proto_unpack(buffer, "u", &count);
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < count; i++) {
        status = proto_unpack(buffer, "u", &lost);
        if (status == OPAL_SUCCESS && lost != daemon->name.vpid) {
            repair_lose(daemon, lost);
        }
    }
    return status;
}

int repair_take_rehome(struct daemon *daemon, opal_buffer_t *buffer)
{
    char *contact = NULL;
    int status = repair_take_losses(daemon, buffer);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack(buffer, "s", &contact);
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (contact[0]) {
        status = rml_connect(daemon->rml, contact, OOB_KEY_CONTROL, 0, parent_linked, daemon);
    } else {
        repair_linked(daemon, REPORT_REHOMED); /* the HNP is the parent, and linked */
    }
    free(contact);
    if (status != ORTE_SUCCESS) {
        repair_hnp_gone(daemon, opal_strerror(status));
    }
    return ORTE_SUCCESS;
}
