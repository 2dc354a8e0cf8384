/* Two to four processes that use each other as peers over datagrams which are lost, come twice and
 * late, while processes are killed and started anew, delete and add peers, and restart. One
 * schedule is one seed. Production's: btl/peers and btl/sessions.
 * Modelled: the transport's frames, which carry the epochs of their session and a number, and are
 * sent again until they are acknowledged or the peer is given up. In some schedules the transport
 * is as sm: it leaves without a word, and its endpoints' memory stays for a while after their end.
 *
 * What must hold: every accepted send calls back exactly once, and with success only if its message
 * arrived; a message arrives at most once, in order, and only at the incarnation that it was sent
 * to; an error is reported after all callbacks; once the last fault is over, everything calls back
 * in bounded time, and those that are up exchange messages; nothing is left at the end. */
#ifndef TESTS_LIB_SIM_PEERS_H
#define TESTS_LIB_SIM_PEERS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_peers_report {
    bool held;
    char reason[160];
    uint32_t events, messages, failed, lost, faults, sessions;
};

void sim_peers_run(uint64_t seed, struct sim_peers_report *report);

#endif
