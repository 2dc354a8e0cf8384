/* Whether a peer's host lives, and the path to it carries: a fresh TCP connect to its discard port,
 * which the kernel there refuses, also for a process that computes or is stopped. One that gets no
 * answer tells little by itself: the network may have lost it, or a firewall. */
#ifndef BTL_HOST_PROBE_H
#define BTL_HOST_PROBE_H

#include <base/net/sock.h>

enum host_answer {
    HOST_NOT_ASKED, /* or this process could not ask */
    HOST_NO_ANSWER, /* yet */
    HOST_UNREACHABLE,
    HOST_ANSWERS,
};

struct host_probe {
    int fd; /* connects; -1: none does */
    enum host_answer answer;
};

/* Nothing is open before. */
void host_probe_init(struct host_probe *probe);
/* Asks the host of an address of IP, from another's host; the ports do not matter. What was asked
 * before is forgotten. */
void host_probe_ask(struct host_probe *probe, const struct sock_addr *from,
                    const struct sock_addr *to);
enum host_answer host_probe_answer(struct host_probe *probe) KEEL_MUST_CHECK;
/* Asks no more. */
void host_probe_clear(struct host_probe *probe);

#endif
