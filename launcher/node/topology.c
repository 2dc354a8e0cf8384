/* This node's topology, for the HNP: its hash when the daemon calls home, the whole when it is
 * asked for. */
#include <config.h>

#include <launcher/node/daemon.h>

#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

void topology_read(struct daemon *daemon, char hash[TOPO_HASH_TEXT])
{
    struct topo topo = {0};
    char reason[256] = "out of memory";
    hash[0] = '\0';
    if (topo_read(&topo, reason, sizeof(reason)) == ORTE_SUCCESS) {
        daemon->topology = topo_print(&topo);
        topo_fini(&topo);
    }
    if (daemon->topology) {
        topo_hash(hash, daemon->topology);
    } else {
        daemon->topology_why = strdup(reason);
    }
}

void topology_report(struct daemon *daemon)
{
    const char *text = daemon->topology ? daemon->topology : "";
    const char *why = daemon->topology_why ? daemon->topology_why : "nobody asked for it";
    daemon_report(daemon, proto_new(REPORT_TOPOLOGY, "ss", text, daemon->topology ? "" : why));
}
