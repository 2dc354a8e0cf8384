/* Peers that are cut off. A provider goes on trying for minutes, or takes what it is given for
 * sent; and a peer that computes is as silent as one that is cut off, since providers make progress
 * only when they are called. So the kernel of a silent peer's host is asked: it answers an attempt
 * to connect, if only by a refusal. One that does not answer any more has failed the peer. One that
 * has never answered, as behind a firewall, tells nothing. So it is asked while the handshake is
 * under way: that a host answers is known of peers that are cut off as soon as they are connected.
 *
 * Only where the provider's addresses are those of IP. */
#ifndef BTL_OFI_SILENCE_H
#define BTL_OFI_SILENCE_H

#include <btl/host_probe.h>

struct ofi_module;

/* Of a peer, while it is UP. */
struct ofi_silence {
    struct host_probe probe;
    uint16_t seen;       /* the number of the frame that was expected at the last look */
    uint8_t quiet;       /* looks since something came */
    uint8_t unanswered;  /* questions in a row */
    uint8_t asked;       /* questions in this session; no more are counted than matter */
    bool answers;        /* it has answered one of them */
};

/* Of a new session, or of none: there are no questions. The probe is initialized. */
void ofi_silence_clear(struct ofi_silence *silence);
/* A hello was sent: whether the host answers is asked, too, unless that is known. */
void ofi_silence_greet(struct ofi_module *ofi, struct mca_btl_base_endpoint_t *peer);
/* Progress calls this often: some times within btl_ofi_timeout_ms it looks at all peers. */
void ofi_silence_check(struct ofi_module *ofi);

#endif
