#include <config.h>

#include <arpa/inet.h>
#include <base/data/least.h>
#include <base/settings/log.h>
#include <btl/usnic/usnic_control.h>
#include <btl/usnic/usnic_path.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LOOK_US = 20000,        /* between looks for peers that have stalled */
    STALL_US = 200000,      /* nothing was acknowledged for so long although something is owed */
    PATIENCE_US = 10000000, /* of the checker, where btl_usnic_peer_timeout_ms is not shorter */
    ENDS_BYTES = 200,
};

/* ---- who is told ---- */

/* "usnic:eth0 (192.168.1.1) to [[1,1],0] on nodeb (192.168.1.2)" */
static void ends_print(char text[ENDS_BYTES], const usnic_endpoint *peer)
{
    const struct usnic_module *usnic = peer->usnic;
    char mine[INET6_ADDRSTRLEN] = "?", theirs[INET6_ADDRSTRLEN] = "?";

    if (usnic->address < usnic->process->card.net.count) {
        const struct netcard_address *own = &usnic->process->card.net.addresses[usnic->address];
        (void) !inet_ntop(own->family, own->bytes, mine, sizeof(mine));
    }
    (void) !inet_ntop(peer->at.family, peer->at.bytes, theirs, sizeof(theirs));
    snprintf(text, ENDS_BYTES, "%s (%s) to %s on %s (%s)", usnic->name, mine,
             ORTE_NAME_PRINT(&peer->life.name),
             peer->life.proc && peer->life.proc->hostname ? peer->life.proc->hostname : "its host",
             theirs);
}

static void verdict_print(const struct usnic_check *check, char *text, size_t size)
{
    switch (check->verdict) {
    case CHECK_PASSES:
        snprintf(text, size, "packets of %zu bytes pass", check->full);
        break;
    case CHECK_SMALL_ONLY:
        snprintf(text, size, "only packets of up to %zu bytes pass, of %zu", check->passes,
                 check->full);
        break;
    case CHECK_ONE_WAY:
        snprintf(text, size, "nothing passes; the other way something does");
        break;
    default:
        snprintf(text, size, "nothing passes, and nothing comes");
        break;
    }
}

/* A line of its own in the file, which all processes of the job write to. */
static void map_write(const usnic_endpoint *peer, const char *ends, const char *verdict)
{
    const char *path = peer->usnic->params.map;
    bool *failed = &peer->usnic->process->map_failed;
    char line[ENDS_BYTES + 200];

    if (!*path || *failed) {
        return;
    }
    int size = snprintf(line, sizeof(line), "%s %s: %s\n", ORTE_NAME_PRINT(&peer->usnic->peers.me),
                        ends, verdict);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    *failed = fd < 0 || write(fd, line, (size_t) size) != size;
    if (*failed) {
        log_warn(LOG_BTL, "btl_usnic_connectivity_map: %s: %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* Not of a session that is half open: it may be a replayed hello's, whose speaker has gone. */
static void tell(usnic_endpoint *peer)
{
    const struct usnic_check *check = &peer->check;
    char ends[ENDS_BYTES], text[100];

    if (peer->told == check->verdict || check->verdict == CHECK_OPEN ||
        !peer->hello.session.proven) {
        return;
    }
    peer->told = check->verdict;
    ends_print(ends, peer);
    verdict_print(check, text, sizeof(text));
    log_at(LOG_BTL, check->verdict == CHECK_PASSES ? LOG_DEBUG : LOG_WARN, "%s: %s", ends, text);
    map_write(peer, ends, text);
}

/* ---- what becomes of it ---- */

static size_t full_size(const usnic_endpoint *peer)
{
    return least(peer->usnic->port.packet_bytes, peer->at.packet_bytes);
}

void usnic_path_begin(usnic_endpoint *peer)
{
    struct usnic_module *usnic = peer->usnic;
    uint64_t patience_us = least(usnic->params.peer_us / 2, (uint64_t) PATIENCE_US);

    peer->flow.passed = 0;
    usnic_check_begin(&peer->check, least(USNIC_SMALL_PACKET, full_size(peer)), full_size(peer),
                      peer->flow.rtt.smoothed / USNIC_STAMPS_PER_US, patience_us, usnic->now_us);
    list_remove(&peer->checking);
    list_append(&usnic->checking, &peer->checking);
}

/* The session ends before the check does: the map has what is known by then, if anything is. */
static void break_off(const usnic_endpoint *peer)
{
    const struct usnic_check *check = &peer->check;
    char ends[ENDS_BYTES], text[100];

    ends_print(ends, peer);
    snprintf(text, sizeof(text), "packets of up to %zu bytes pass, of %zu; it ended amid the check",
             check->passes, check->full);
    map_write(peer, ends, text);
}

void usnic_path_end(usnic_endpoint *peer)
{
    if (usnic_check_runs(&peer->check) && peer->check.verdict == CHECK_OPEN && peer->check.known) {
        break_off(peer);
    }
    list_remove(&peer->checking);
    peer->check = (struct usnic_check){.state = CHECK_IDLE};
    peer->told = CHECK_OPEN;
}

/* Packets that are under way cannot become smaller. */
static void size_take(usnic_endpoint *peer)
{
    const struct usnic_check *check = &peer->check;
    size_t mtu = peer->flow.params.mtu;
    bool shrinks = check->state == CHECK_DONE && check->passes < mtu;

    if (shrinks && usnic_flow_largest(&peer->flow) > check->passes) {
        btl_peer_fail(&peer->life, "packets of the size that passed do not pass any more");
    } else if (shrinks || check->passes > mtu) {
        usnic_flow_set_mtu(&peer->flow, check->passes);
    }
}

void usnic_path_answered(usnic_endpoint *peer, size_t size)
{
    usnic_check_answered(&peer->check, size, peer->usnic->now_us);
    size_take(peer);
}

static void check_go_on(usnic_endpoint *peer, uint64_t now_us)
{
    size_t size;

    if (peer->hello.session.proven) {
        usnic_check_met(&peer->check, now_us);
    }
    if (peer->flow.passed > peer->check.passes) {
        usnic_path_answered(peer, peer->flow.passed);
    }
    while ((size = usnic_check_probe(&peer->check, now_us)) > 0) {
        usnic_say_probe(peer, size);
    }
    tell(peer);
    if (!usnic_check_runs(&peer->check)) {
        list_remove(&peer->checking);
        size_take(peer);
    }
}

/* A packet that is too large for the path is never acknowledged. */
static bool has_stalled(const usnic_endpoint *peer, uint64_t now_us)
{
    return peer->flows && !usnic_flow_is_flushed(&peer->flow) &&
           now_us >= peer->flow.clock.progress_us + STALL_US;
}

/* Without checksums a request or reply may be garbled so that its operation is never answered,
 * although all packets have come. On a slow path the reply may follow large messages, or be one:
 * while more of them comes, the peer has all its time again. Looks are counted, not time, which
 * passes also while this process does nothing. */
static void watch_replies(usnic_endpoint *peer)
{
    uint64_t awaits = rdma_am_peer_awaits(&peer->am);
    bool owes =
        awaits != 0 && awaits == peer->awaits && peer->flows && usnic_flow_is_flushed(&peer->flow);
    bool came = owes && peer->came_us != peer->flow.heard.last_us;

    peer->awaits = awaits;
    peer->came_us = owes ? peer->flow.heard.last_us : 0;
    if (!owes || (came && usnic_flow_is_amid(&peer->flow))) {
        peer->silent_looks = 0;
    } else if (!came) {
        peer->silent_looks++;
    }
    if (peer->silent_looks > peer->usnic->params.peer_us / LOOK_US) {
        btl_peer_fail(&peer->life, "an operation was not answered for the peer's timeout");
    }
}

static void look(struct usnic_module *usnic)
{
    usnic_endpoint *peer;

    usnic->look_us = usnic->now_us + LOOK_US;
    list_for_each (peer, &usnic->peers.used, usnic_endpoint, life.link) {
        if (!usnic_check_runs(&peer->check) && has_stalled(peer, usnic->now_us)) {
            usnic_path_begin(peer);
        }
        watch_replies(peer);
    }
}

void usnic_path_progress(struct usnic_module *usnic)
{
    usnic_endpoint *peer;

    if (usnic->now_us >= usnic->look_us &&
        (usnic_engine_busy(&usnic->engine) || rdma_am_open(usnic->am))) {
        look(usnic);
    }
    list_for_each (peer, &usnic->checking, usnic_endpoint, checking) {
        check_go_on(peer, usnic->now_us);
    }
}
