/* This node's topology, for the HNP: its hash when the daemon calls home, or is asked for it,
 * and the whole when that is asked for. */
#include <config.h>

#include <launcher/node/daemon.h>

#include <base/settings/fault.h>
#include <string.h>
#include <wireup/proto.h>

void topology_read(struct daemon *daemon, char hash[TOPO_HASH_TEXT])
{
    struct topo topo = {0};
    char reason[256] = "out of memory";
    hash[0] = '\0';
    if (!daemon->topology.text && topo_read(&topo, reason, sizeof(reason)) == ORTE_SUCCESS) {
        daemon->topology.text = topo_print(&topo);
        topo_fini(&topo);
    }
    if (daemon->topology.text) {
        topo_hash(hash, daemon->topology.text);
    } else if (!daemon->topology.why) {
        daemon->topology.why = strdup(reason);
    }
}

int topology_report(struct daemon *daemon, opal_buffer_t *buffer)
{
    char hash[TOPO_HASH_TEXT];
    uint8_t whole;
    int status = proto_unpack(buffer, "c", &whole);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    topology_read(daemon, hash);
    struct fault fault = fault_at("launcher.topology");
    if (fault.action == FAULT_DROP) {
        return ORTE_SUCCESS;
    }
    bool told = daemon->topology.text && fault.action != FAULT_ERROR;
    const char *text = told && whole ? daemon->topology.text : "";
    const char *why = fault.action == FAULT_ERROR ? strerror((int) fault.value)
                      : daemon->topology.why      ? daemon->topology.why
                                                  : "out of memory";
    daemon_report(daemon, proto_new(REPORT_TOPOLOGY, "sss", hash, text, told ? "" : why));
    return ORTE_SUCCESS;
}
