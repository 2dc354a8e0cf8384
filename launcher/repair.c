#include <config.h>

#include <launcher/repair.h>

#include <base/clock.h>
#include <base/log.h>
#include <bootstrap/proto.h>
#include <stdlib.h>

/* Those below would have to find out by themselves, which takes long where keelrun does not answer.
 */
void repair_hnp_gone(struct daemon *daemon, const char *reason)
{
    log_info(LOG_LAUNCHER, "keelrun is gone: %s", reason);
    for (uint32_t vpid = daemon->name.vpid + 1; vpid < daemon->count; vpid++) {
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
    } else {
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

static void ask_hnp(struct daemon *daemon);

/* A suspended HNP answers nothing. */
static bool has_patience(const struct daemon *daemon)
{
    uint64_t grace_us = rml_lifeline_grace_us();
    return grace_us == 0 || clock_us() < daemon->homeless_us + grace_us;
}

static void at_hnp(void *arg, int status, const char *reason)
{
    struct daemon *daemon = arg;
    bool silent = status == ORTE_ERR_TIMEOUT || status == ORTE_ERR_TEMP_OUT_OF_RESOURCE;
    if (silent && has_patience(daemon)) {
        ask_hnp(daemon); /* it took its time */
        return;
    }
    if (status != ORTE_SUCCESS) {
        repair_hnp_gone(daemon, reason ? reason : opal_strerror(status));
        return;
    }
    daemon_report(daemon,
                  proto_new(REPORT_ORPHAN, "u", rml_parent_of(daemon->rml, daemon->name.vpid)));
}

static void ask_hnp(struct daemon *daemon)
{
    int status = rml_connect(daemon->rml, daemon->hnp_contact, OOB_KEY_CONTROL, at_hnp, daemon);
    if (status != ORTE_SUCCESS) {
        repair_hnp_gone(daemon, opal_strerror(status));
    }
}

void repair_begin(struct daemon *daemon)
{
    log_info(LOG_LAUNCHER, "the parent daemon %u is gone",
             rml_parent_of(daemon->rml, daemon->name.vpid));
    daemon->homeless = true;
    daemon->homeless_us = clock_us();
    ask_hnp(daemon);
}

static void rehomed(struct daemon *daemon)
{
    orte_process_name_t hnp = {daemon->name.jobid, HNP_VPID};
    uint32_t parent = rml_parent_of(daemon->rml, daemon->name.vpid);
    log_info(LOG_LAUNCHER, "daemon %u is the parent now", parent);
    daemon->homeless = false;
    rml_rejoin(daemon->rml);
    if (parent != HNP_VPID) {
        rml_disconnect(daemon->rml, &hnp, true);
    }
    daemon_report(daemon, proto_new(REPORT_REHOMED, ""));
}

static void parent_linked(void *arg, int status, const char *reason)
{
    struct daemon *daemon = arg;
    if (status == ORTE_SUCCESS) {
        rehomed(daemon);
        return;
    }
    log_info(LOG_LAUNCHER, "no link to the new parent: %s",
             reason ? reason : opal_strerror(status));
    repair_begin(daemon); /* that one is lost, too */
}

int repair_take_rehome(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint32_t count, lost;
    char *contact = NULL;
    int status = proto_unpack(buffer, "u", &count);
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < count; i++) {
        status = proto_unpack(buffer, "u", &lost);
        if (status == OPAL_SUCCESS && lost != daemon->name.vpid) {
            repair_lose(daemon, lost);
        }
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack(buffer, "s", &contact);
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (contact[0]) {
        status = rml_connect(daemon->rml, contact, OOB_KEY_CONTROL, parent_linked, daemon);
    } else {
        rehomed(daemon); /* the HNP is the parent, and linked */
    }
    free(contact);
    if (status != ORTE_SUCCESS) {
        repair_hnp_gone(daemon, opal_strerror(status));
    }
    return ORTE_SUCCESS;
}
