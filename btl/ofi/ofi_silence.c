#include <config.h>

#include <base/clock.h>
#include <base/sock.h>
#include <btl/ofi/ofi_peer.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum {
    LOOKS = 8,      /* within the time that makes a peer a failed one */
    QUIET = 2,      /* of them without a frame, then there are */
    UNANSWERED = 6, /* questions in a row, one each look; the last sign is LOOKS old then */
    QUESTIONS_MAX = 256,
    PORT = 9, /* discard: nobody listens there, and who does is not harmed */
};

/* An address of the provider's, with that port; family AF_UNSPEC: it is none of IP. */
static struct sock_addr address_of(const struct fabric_address *address, uint16_t port)
{
    struct sock_addr addr = {.length = (socklen_t) address->size};

    if (address->format == FI_SOCKADDR_IN && address->size == sizeof(struct sockaddr_in)) {
        memcpy(&addr.storage, address->bytes, address->size);
        ((struct sockaddr_in *) (void *) &addr.storage)->sin_port = htons(port);
    } else if (address->format == FI_SOCKADDR_IN6 && address->size == sizeof(struct sockaddr_in6)) {
        memcpy(&addr.storage, address->bytes, address->size);
        ((struct sockaddr_in6 *) (void *) &addr.storage)->sin6_port = htons(port);
    }
    return addr;
}

void ofi_silence_clear(struct ofi_silence *silence)
{
    fd_close(&silence->fd);
    *silence = (struct ofi_silence){.fd = -1};
}

/* Whether the host has answered the question. */
static bool is_answered(int fd)
{
    const struct linger reset = {.l_onoff = 1}; /* whoever listens there is left at once */
    struct pollfd decided = {.fd = fd, .events = POLLOUT};

    if (poll(&decided, 1, 0) <= 0) {
        return false;
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    int error = sock_error(fd);
    return error == 0 || error == ECONNREFUSED;
}

/* What became of the last look's question. */
static bool hear(struct ofi_silence *silence)
{
    bool answered = silence->fd >= 0 && is_answered(silence->fd);

    silence->unanswered = answered ? 0 : silence->unanswered + (silence->fd >= 0);
    silence->answers = silence->answers || answered;
    fd_close(&silence->fd);
    return answered;
}

/* An error is no answer, and no question: the kernel knows of no way now. */
static void ask(struct ofi_module *ofi, ofi_endpoint *peer)
{
    struct sock_addr from = address_of(&ofi->card.address, 0), to = address_of(&peer->at, PORT);
    int fd = sock_connect_from(&from, &to);

    peer->silence.asked = true;
    peer->silence.fd = fd >= 0 ? fd : -1;
    peer->silence.answers = peer->silence.answers || fd == -ECONNREFUSED;
    if (fd == -ENETUNREACH || fd == -EHOSTUNREACH || fd == -ENETDOWN) {
        peer->silence.unanswered++;
    } else if (fd == -ECONNREFUSED) {
        peer->silence.unanswered = peer->silence.quiet = 0;
    }
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
    return silence->fd >= 0;
}

void ofi_silence_check(struct ofi_module *ofi)
{
    unsigned questions = 0;
    uint64_t now_us = ofi->params.silence_us > 0 ? clock_us() : 0;
    ofi_endpoint *peer;

    if (now_us < ofi->look_us || ofi->params.silence_us == 0 ||
        address_of(&ofi->card.address, 0).storage.ss_family == AF_UNSPEC) {
        return;
    }
    ofi->look_us = now_us + ofi->params.silence_us / LOOKS;
    list_for_each (peer, &ofi->peers.used, ofi_endpoint, life.link) {
        if (peer->life.state == PEER_UP) {
            questions += look_at(ofi, peer, questions < QUESTIONS_MAX);
        }
    }
}
