#include <config.h>

#include <base/clock.h>
#include <btl/ofi/ofi_peer.h>
#include <netinet/in.h>
#include <string.h>

enum {
    LOOKS = 8,      /* within the time that makes a peer a failed one */
    QUIET = 2,      /* of them without a frame, then there are */
    UNANSWERED = 6, /* questions in a row, one each look; the last sign is LOOKS old then */
    QUESTIONS_MAX = 256,
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

void ofi_silence_clear(struct ofi_silence *silence)
{
    host_probe_clear(&silence->probe);
    *silence = (struct ofi_silence){.probe = silence->probe};
}

/* What became of the last look's question. */
static bool hear(struct ofi_silence *silence)
{
    enum host_answer answer = host_probe_answer(&silence->probe);
    bool answered = answer == HOST_ANSWERS;

    silence->unanswered = answered ? 0 : silence->unanswered + (answer != HOST_NOT_ASKED);
    silence->answers = silence->answers || answered;
    host_probe_clear(&silence->probe);
    return answered;
}

static void ask(struct ofi_module *ofi, ofi_endpoint *peer)
{
    struct sock_addr from = address_of(&ofi->card.address), to = address_of(&peer->at);

    peer->silence.asked = true;
    host_probe_ask(&peer->silence.probe, &from, &to);
}

/* Returns whether its host is being asked now. */
static bool look_at(struct ofi_module *ofi, ofi_endpoint *peer, bool may_ask)
{
    struct ofi_silence *silence = &peer->silence;
    bool heard = hear(silence) || silence->seen != peer->order.expected;

    silence->seen = peer->order.expected;
    silence->quiet = heard ? 0 : silence->quiet + (silence->quiet < QUIET);
    silence->unanswered = heard ? 0 : silence->unanswered;
    if (silence->answers && silence->unanswered >= UNANSWERED) {
        btl_peer_fail(&peer->life, "its host does not answer, and nothing comes from it");
    } else if (may_ask && (silence->quiet >= QUIET || !silence->asked)) {
        ask(ofi, peer);
    }
    return silence->probe.fd >= 0;
}

void ofi_silence_check(struct ofi_module *ofi)
{
    unsigned questions = 0;
    uint64_t now_us = ofi->params.silence_us > 0 ? clock_us() : 0;
    ofi_endpoint *peer;

    if (now_us < ofi->look_us || ofi->params.silence_us == 0 ||
        address_of(&ofi->card.address).storage.ss_family == AF_UNSPEC) {
        return;
    }
    ofi->look_us = now_us + ofi->params.silence_us / LOOKS;
    list_for_each (peer, &ofi->peers.used, ofi_endpoint, life.link) {
        if (peer->life.state == PEER_UP) {
            questions += look_at(ofi, peer, questions < QUESTIONS_MAX);
        }
    }
}
