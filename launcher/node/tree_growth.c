#include <config.h>

#include <launcher/node/tree_growth.h>

#include <launcher/node/tree_repair.h>
#include <stdlib.h>
#include <wireup/proto.h>

int growth_set(struct daemon *daemon, uint32_t count)
{
    if (count < daemon->tree.count || count > DAEMONS_MAX) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    int status = rml_grow_tree(daemon->rml, count);
    daemon->tree.count = status == ORTE_SUCCESS ? count : daemon->tree.count;
    return status;
}

static bool leads(const struct daemon *daemon)
{
    uint32_t child[1];
    return tree_children(daemon->tree.radix, daemon->tree.count, daemon->name.vpid, child, 1) > 0;
}

/* Whoever is a parent now is linked to by other nodes. */
int growth_take(struct daemon *daemon, opal_buffer_t *buffer)
{
    char reason[256] = "";
    uint32_t count;
    int status = proto_unpack(buffer, "u", &count);
    if (status == OPAL_SUCCESS) {
        status = growth_set(daemon, count);
    }
    if (status == ORTE_SUCCESS) {
        status = repair_take_losses(daemon, buffer);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (leads(daemon) && daemon_listen(daemon, reason, sizeof(reason)) != ORTE_SUCCESS) {
        daemon_tell(daemon, "node %s: no daemon can link to this one: %s", daemon->node, reason);
    }
    daemon_report(daemon, proto_new(REPORT_GROWN, "us", count, daemon->contact));
    return ORTE_SUCCESS;
}

static void linked(void *arg, int status, const char *reason)
{
    struct daemon *daemon = arg;
    if (status == ORTE_SUCCESS) {
        repair_linked(daemon, REPORT_WIRED);
    } else {
        daemon_report_unable(daemon, "no link to its parent in the tree", reason, status);
    }
}

static int read_place(struct daemon *daemon, opal_buffer_t *buffer, struct rml_casts *last,
                      char **contact)
{
    uint32_t count;
    int status = proto_unpack(buffer, "qqu", &last->control, &last->app, &count);
    if (status == OPAL_SUCCESS) {
        status = growth_set(daemon, count);
    }
    if (status == ORTE_SUCCESS) {
        status = repair_take_losses(daemon, buffer);
    }
    return status == ORTE_SUCCESS ? proto_unpack(buffer, "s", contact) : status;
}

int growth_join(struct daemon *daemon, opal_buffer_t *buffer)
{
    struct rml_casts last;
    char *contact = NULL;
    int status = read_place(daemon, buffer, &last, &contact);
    if (status == OPAL_SUCCESS) {
        rml_begin_casts(daemon->rml, &last);
        if (contact[0]) {
            status =
                rml_connect(daemon->rml, contact, OOB_KEY_CONTROL, home_try_us(), linked, daemon);
        } else {
            linked(daemon, ORTE_SUCCESS, NULL); /* the HNP is the parent */
        }
    }
    free(contact);
    if (status != ORTE_SUCCESS) {
        daemon_report_unable(daemon, "no place in the tree", NULL, status);
    }
    return status;
}
