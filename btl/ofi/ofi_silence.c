#include <config.h>

#include <base/data/clock.h>
#include <btl/ofi/ofi_peer.h>
#include <netinet/in.h>
#include <string.h>

enum {
    LOOKS = 8,        /* within the time that makes a peer a failed one */
    QUIET = 2,        /* looks without a frame, after which the host is probed at each */
    UNANSWERED = 6,   /* probes in a row; the last sign of life is LOOKS old then */
    FIRST_PROBES = 3, /* to a peer that may not be silent, to learn whether its host answers */
    PROBES_MAX = 256, /* open at the same time, and */
    FIRSTS_MAX = 64,  /* of those that outlive looks: each a descriptor for minutes */
};

/* An address of the provider's; family AF_UNSPEC: it is none of IP. */
static struct sock_addr address_of(const struct fabric_address *address)
{
    struct sock_addr addr = {.length = (socklen_t) address->size};

    if ((address->format == FI_SOCKADDR_IN && address->size == sizeof(struct sockaddr_in)) ||
        (address->format == FI_SOCKADDR_IN6 && address->size == sizeof(struct sockaddr_in6))) {
        memcpy(&addr.storage, address->bytes, address->size);
    }
    return addr;
}

static void clear_probes(struct ofi_silence *silence)
{
    host_probe_clear(&silence->first);
    host_probe_clear(&silence->probe);
}

void ofi_silence_clear(struct ofi_silence *silence)
{
    clear_probes(silence);
    *silence = (struct ofi_silence){.first = silence->first, .probe = silence->probe};
}

/* Takes the answers to the probes of the host. Returns whether it answered. */
static bool take_answers(struct ofi_silence *silence)
{
    bool answered = host_probe_answer(&silence->first) == HOST_ANSWERS ||
                    host_probe_answer(&silence->probe) == HOST_ANSWERS;

    silence->answers = silence->answers || answered;
    return answered;
}

/* The next probe may take the place of the last one. */
static void keep_first(struct ofi_module *ofi, struct ofi_silence *silence)
{
    if (silence->first.fd < 0 && ofi->first_probes < FIRSTS_MAX) {
        ofi->first_probes += silence->probe.fd >= 0;
        silence->first = silence->probe;
        host_probe_init(&silence->probe);
    }
    host_probe_clear(&silence->probe);
}

static void probe_host(struct ofi_module *ofi, ofi_endpoint *peer)
{
    struct sock_addr from = address_of(&ofi->card.address), to = address_of(&peer->at);

    if (ofi->params.silence_us > 0 && from.storage.ss_family != AF_UNSPEC &&
        ofi->probes < PROBES_MAX) {
        ofi->probes++;
        peer->silence.probes += peer->silence.probes < FIRST_PROBES;
        host_probe_ask(&peer->silence.probe, &from, &to);
    }
}

void ofi_silence_handshake(struct ofi_module *ofi, ofi_endpoint *peer)
{
    struct ofi_silence *silence = &peer->silence;

    (void) take_answers(silence);
    if (peer->life.state == PEER_RETRYING ? !silence->answers : silence->probes == 0) {
        keep_first(ofi, silence);
        probe_host(ofi, peer);
    }
}

static void look_at(struct ofi_module *ofi, ofi_endpoint *peer)
{
    struct ofi_silence *silence = &peer->silence;
    bool alive = take_answers(silence) || silence->seen != peer->order.expected;

    silence->seen = peer->order.expected;
    silence->quiet = alive ? 0 : silence->quiet + (silence->quiet < QUIET);
    bool in_vain = silence->probe.answer != HOST_NOT_ASKED && silence->unanswered < UNANSWERED;
    silence->unanswered = alive ? 0 : silence->unanswered + in_vain;
    if (alive && silence->answers) {
        clear_probes(silence);
    } else {
        keep_first(ofi, silence); /* frames do not tell whether the host answers */
    }
    if (silence->answers && silence->unanswered >= UNANSWERED) {
        btl_peer_fail(&peer->life, "its host does not answer, and nothing comes from it");
    } else if (silence->quiet >= QUIET || (!silence->answers && silence->probes < FIRST_PROBES)) {
        probe_host(ofi, peer);
    }
}

void ofi_silence_check(struct ofi_module *ofi)
{
    uint64_t now_us = ofi->params.silence_us > 0 ? clock_us() : 0;
    ofi_endpoint *peer;

    if (now_us < ofi->look_us || ofi->params.silence_us == 0 ||
        address_of(&ofi->card.address).storage.ss_family == AF_UNSPEC) {
        return;
    }
    ofi->look_us = now_us + ofi->params.silence_us / LOOKS;
    ofi->probes = ofi->first_probes = 0;
    list_for_each (peer, &ofi->peers.used, ofi_endpoint, life.link) {
        ofi->first_probes += peer->silence.first.fd >= 0;
    }
    list_for_each (peer, &ofi->peers.used, ofi_endpoint, life.link) {
        if (peer->life.state == PEER_UP) {
            look_at(ofi, peer);
        } else {
            ofi->probes += peer->silence.probe.fd >= 0;
        }
    }
}
