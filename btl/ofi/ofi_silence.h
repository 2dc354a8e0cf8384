/* Peers that are cut off. A provider tries for minutes, or reports what it accepted as sent. And a
 * peer that computes is as silent as one that is cut off, since providers make progress only when
 * they are called. So the host of a silent peer is probed (btl/sessions/host_probe.h): its kernel
 * answers, in its own time: the first question to a silent host stays open, beside the last one,
 * which is asked anew since either may be lost. A peer fails when its host has answered before and
 * does not any more. A host that has never answered, as behind a firewall, fails nobody. The first
 * probes are sent during the handshake, so that this is known of a peer that is cut off as soon as
 * it is connected.
 *
 * Only where the provider's addresses are those of IP. */
#ifndef BTL_OFI_SILENCE_H
#define BTL_OFI_SILENCE_H

#include <btl/sessions/host_probe.h>

struct ofi_module;

/* Of a peer, from the handshake on. */
struct ofi_silence {
    struct host_probe first; /* of those that the host has not answered */
    struct host_probe probe; /* the last one */
    uint16_t seen;           /* the number of the frame that was expected at the last look */
    uint8_t quiet;           /* looks since something came */
    uint8_t unanswered;      /* probes in a row */
    uint8_t probes;          /* since the hello, counted up to FIRST_PROBES */
    bool answers;            /* the host has answered one of them */
};

/* Of a new session, or of none: no probe is open or counted. The probes are initialized. */
void ofi_silence_clear(struct ofi_silence *silence);
/* Called by each pass of a handshake, and with each hello that is sent again: probes the host,
 * unless one was or the host is known to answer. */
void ofi_silence_handshake(struct ofi_module *ofi, struct mca_btl_base_endpoint_t *peer);
/* Called by each progress: looks at all peers, eight times within btl_ofi_timeout_ms. */
void ofi_silence_check(struct ofi_module *ofi);

#endif
