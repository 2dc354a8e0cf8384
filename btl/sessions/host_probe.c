#include <config.h>

#include <btl/sessions/host_probe.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>

enum { PORT = 9 }; /* discard: nobody listens there, and who does is not harmed */

static struct sock_addr with_port(const struct sock_addr *addr, uint16_t port)
{
    struct sock_addr out = *addr;

    if (out.storage.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *) (void *) &out.storage)->sin6_port = htons(port);
    } else {
        ((struct sockaddr_in *) (void *) &out.storage)->sin_port = htons(port);
    }
    return out;
}

/* error: of a connect that has ended, 0: it was accepted. */
static enum host_answer answer_of(int error)
{
    switch (error) {
    case 0:
    case ECONNREFUSED:
        return HOST_ANSWERS;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
        return HOST_UNREACHABLE;
    case ETIMEDOUT:
        return HOST_NO_ANSWER;
    default:
        return HOST_NOT_ASKED;
    }
}

void host_probe_init(struct host_probe *probe)
{
    *probe = (struct host_probe){.fd = -1};
}

void host_probe_clear(struct host_probe *probe)
{
    fd_close(&probe->fd);
    host_probe_init(probe);
}

void host_probe_ask(struct host_probe *probe, const struct sock_addr *from,
                    const struct sock_addr *to)
{
    const struct sock_addr mine = with_port(from, 0), discard = with_port(to, PORT);

    host_probe_clear(probe);
    int fd = sock_connect_from(&mine, &discard);
    probe->fd = fd >= 0 ? fd : -1;
    probe->answer = fd >= 0 ? HOST_NO_ANSWER : answer_of(-fd);
}

enum host_answer host_probe_answer(struct host_probe *probe)
{
    const struct linger reset = {.l_onoff = 1}; /* whoever listens there is left at once */
    struct pollfd decided = {.fd = probe->fd, .events = POLLOUT};

    if (probe->fd >= 0 && poll(&decided, 1, 0) > 0) {
        setsockopt(probe->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        probe->answer = answer_of(sock_error(probe->fd));
        fd_close(&probe->fd);
    }
    return probe->answer;
}
