#include <config.h>

#include <arpa/inet.h>
#include <base/net/sock.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h> /* netinet/tcp.h lacks tcpi_min_rtt */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int sock_addr_unix(struct sock_addr *addr, const char *path)
{
    size_t length = strlen(path);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (length == 0) {
        return -EINVAL;
    }
    if (length >= sizeof(name.sun_path)) {
        return -ENAMETOOLONG;
    }
    memcpy(name.sun_path, path, length);
    *addr = (struct sock_addr){.length = sizeof(name)};
    memcpy(&addr->storage, &name, sizeof(name));
    return 0;
}

int sock_addr_ip(struct sock_addr *addr, int family, const char *host, uint16_t port)
{
    struct sock_addr made = {.length = 0};
    if (family == AF_INET) {
        struct sockaddr_in *in = (struct sockaddr_in *) &made.storage;
        made.length = sizeof(*in);
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        if (inet_pton(AF_INET, host, &in->sin_addr) != 1) {
            return -EINVAL;
        }
    } else if (family == AF_INET6) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *) &made.storage;
        made.length = sizeof(*in6);
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(port);
        if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1) {
            return -EINVAL;
        }
    } else {
        return -EAFNOSUPPORT;
    }
    *addr = made;
    return 0;
}

uint16_t sock_addr_port(const struct sock_addr *addr)
{
    switch (addr->storage.ss_family) {
    case AF_INET:
        return ntohs(((const struct sockaddr_in *) &addr->storage)->sin_port);
    case AF_INET6:
        return ntohs(((const struct sockaddr_in6 *) &addr->storage)->sin6_port);
    default:
        return 0;
    }
}

const char *sock_addr_print(const struct sock_addr *addr, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    switch (addr->storage.ss_family) {
    case AF_INET:
        inet_ntop(AF_INET, &((const struct sockaddr_in *) &addr->storage)->sin_addr, host,
                  sizeof(host));
        snprintf(text, size, "tcp://%s:%u", host, sock_addr_port(addr));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *) &addr->storage)->sin6_addr, host,
                  sizeof(host));
        snprintf(text, size, "tcp6://[%s]:%u", host, sock_addr_port(addr));
        break;
    case AF_UNIX: {
        const struct sockaddr_un *name = (const struct sockaddr_un *) &addr->storage;
        snprintf(text, size, "unix://%.*s", (int) sizeof(name->sun_path), name->sun_path);
        break;
    }
    default:
        snprintf(text, size, "?");
        break;
    }
    return text;
}

/* With few packets under way a lost one is sent again at a steady pace, up to six times; else each
 * wait is twice as long as the one before, and a network that loses one packet in five stops a
 * connection for minutes. What is accepted inherits that from its listener. */
static int open_stream(const struct sock_addr *addr)
{
    const int on = 1;
    int fd = socket(addr->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && addr->storage.ss_family != AF_UNIX) {
        setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof(on));
    }
    return fd < 0 ? -errno : fd;
}

/* What a listener needs before bind. The mode of a unix socket's own inode becomes its file's. */
static int prepare_listener(int fd, int family)
{
    const int on = 1;
    if (family == AF_UNIX) {
        return fchmod(fd, S_IRUSR | S_IWUSR);
    }
    if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) {
        return -1;
    }
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

int sock_listen(const struct sock_addr *addr, int backlog)
{
    int fd = open_stream(addr);
    if (fd < 0) {
        return fd;
    }
    if (prepare_listener(fd, addr->storage.ss_family) < 0 ||
        bind(fd, (const struct sockaddr *) &addr->storage, addr->length) < 0 ||
        listen(fd, backlog) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

int sock_local_addr(int fd, struct sock_addr *addr)
{
    struct sock_addr local = {.length = sizeof(local.storage)};
    if (getsockname(fd, (struct sockaddr *) &local.storage, &local.length) < 0) {
        return -errno;
    }
    *addr = local;
    return 0;
}

static bool is_loopback(const struct sock_addr *addr)
{
    const struct sockaddr_in *in = (const void *) &addr->storage;
    const struct sockaddr_in6 *in6 = (const void *) &addr->storage;
    return addr->storage.ss_family == AF_INET ? ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
                                              : IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static bool same_host(const struct sock_addr *a, const struct sock_addr *b)
{
    const struct sockaddr_in *a4 = (const void *) &a->storage, *b4 = (const void *) &b->storage;
    const struct sockaddr_in6 *a6 = (const void *) &a->storage, *b6 = (const void *) &b->storage;
    return a->storage.ss_family == AF_INET ? a4->sin_addr.s_addr == b4->sin_addr.s_addr
                                           : IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

bool sock_is_local(int fd)
{
    struct sock_addr mine, peer = {.length = sizeof(peer.storage)};
    if (sock_local_addr(fd, &mine) < 0 ||
        getpeername(fd, (struct sockaddr *) &peer.storage, &peer.length) < 0 ||
        mine.storage.ss_family != peer.storage.ss_family) {
        return false;
    }
    int family = mine.storage.ss_family;
    return family == AF_UNIX ||
           ((family == AF_INET || family == AF_INET6) &&
            (same_host(&mine, &peer) || (is_loopback(&mine) && is_loopback(&peer))));
}

/* The port is chosen at the connect, when the other end is known: there are many more then. */
static int bind_from(int fd, const struct sock_addr *from)
{
    const int on = 1;
    (void) setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    return bind(fd, (const struct sockaddr *) &from->storage, from->length);
}

int sock_connect(const struct sock_addr *addr)
{
    return sock_connect_from(NULL, addr);
}

int sock_connect_from(const struct sock_addr *from, const struct sock_addr *addr)
{
    int fd = open_stream(addr);
    if (fd < 0) {
        return fd;
    }
    int status = from ? bind_from(fd, from) : 0;
    if (status == 0) {
        status = connect(fd, (const struct sockaddr *) &addr->storage, addr->length);
    }
    /* An interrupted connect goes on, as one in progress. */
    if (status < 0 && errno != EINPROGRESS && errno != EINTR) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

int sock_accept(int listener, struct sock_addr *peer)
{
    struct sock_addr from;
    int fd;
    do {
        from = (struct sock_addr){.length = sizeof(from.storage)};
        fd = accept4(listener, (struct sockaddr *) &from.storage, &from.length,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (fd < 0) {
        return -errno;
    }
    if (peer) {
        *peer = from;
    }
    return fd;
}

bool sock_is_starved(int fd)
{
    return fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM;
}

int sock_error(int fd)
{
    int error = 0;
    socklen_t length = sizeof(error);
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

int sock_nodelay(int fd)
{
    const int on = 1;
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ? -errno : 0;
}

/* The kernel's ~0 is none yet. An old kernel fills less. */
uint64_t sock_round_trip_us(int fd)
{
    struct tcp_info info = {.tcpi_min_rtt = UINT32_MAX};
    socklen_t length = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0 ||
        info.tcpi_min_rtt == UINT32_MAX) {
        return 0;
    }
    return info.tcpi_min_rtt;
}

int sock_peer(int fd, uid_t *uid, pid_t *pid)
{
    int domain = 0;
    struct ucred peer;
    socklen_t length = sizeof(domain);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0) {
        return -errno;
    }
    if (domain != AF_UNIX) {
        return -EOPNOTSUPP;
    }
    length = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) {
        return -errno;
    }
    if (length != sizeof(peer) || peer.uid == (uid_t) -1) {
        return -ENOTCONN;
    }
    *uid = peer.uid;
    *pid = peer.pid;
    return 0;
}

int fd_socketpair(int fds[2], int type)
{
    return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) < 0 ? -errno : 0;
}

void fd_close(int *fd)
{
    if (*fd >= 0) {
        int error = errno;
        close(*fd);
        *fd = -1;
        errno = error;
    }
}

void fd_fill_standard(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", O_RDONLY) < 0) { /* the lowest that is free */
            return;
        }
    }
}

int fd_write_all(int fd, const void *data, size_t size)
{
    const char *next = data;
    while (size > 0) {
        ssize_t done = write(fd, next, size);
        if (done >= 0) {
            next += done;
            size -= (size_t) done;
        } else if (errno == EAGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};
            if (poll(&wait, 1, -1) < 0 && errno != EINTR) {
                return -errno;
            }
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

void fd_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}
