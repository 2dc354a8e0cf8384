/* Sockets and descriptors: everything close-on-exec, non-blocking where it says so. Functions
 * return a descriptor or -errno. */
#ifndef BASE_SOCK_H
#define BASE_SOCK_H

#include <keel/types.h>
#include <sys/socket.h>

/* An address with its length, for both families and unix paths. */
struct sock_addr {
    struct sockaddr_storage storage;
    socklen_t length;
};

int sock_addr_unix(struct sock_addr *addr, const char *path) KEEL_MUST_CHECK; /* 0 or -errno */
/* Numeric host only; family AF_INET or AF_INET6. */
int sock_addr_ip(struct sock_addr *addr, int family, const char *host,
                 uint16_t port) KEEL_MUST_CHECK;
uint16_t sock_addr_port(const struct sock_addr *addr);
/* "tcp://1.2.3.4:5", "tcp6://[::1]:5" or "unix:///path"; returns text. */
const char *sock_addr_print(const struct sock_addr *addr, char *text, size_t size);

/* Non-blocking listener; port 0: the kernel's choice. A unix path's file is made 0600. */
int sock_listen(const struct sock_addr *addr, int backlog) KEEL_MUST_CHECK;
int sock_local_addr(int fd, struct sock_addr *addr) KEEL_MUST_CHECK;
/* Starts a non-blocking connect; writable means decided (ask sock_error). */
int sock_connect(const struct sock_addr *addr) KEEL_MUST_CHECK;
/* The same from this address of the host; NULL: the kernel's choice. */
int sock_connect_from(const struct sock_addr *from, const struct sock_addr *addr) KEEL_MUST_CHECK;
int sock_accept(int listener, struct sock_addr *peer) KEEL_MUST_CHECK;
/* Whether that has failed for want of descriptors or memory: the connection still waits, so that
 * the listener is ready all the time. */
bool sock_is_starved(int fd);
/* Whether both ends of a connected socket have the same address, or loopback ones, and so lie in
 * one network stack. */
bool sock_is_local(int fd);
int sock_error(int fd); /* SO_ERROR as an errno, 0: connected */
int sock_nodelay(int fd);
/* The shortest round trip that the kernel has seen on a connected TCP socket, which stays known
 * when the connection has broken; 0: none was seen. */
uint64_t sock_round_trip_us(int fd);
/* The uid and pid of a unix socket's other end. 0 or -errno. */
int sock_peer(int fd, uid_t *uid, pid_t *pid) KEEL_MUST_CHECK;

/* Both ends close-on-exec. 0 or -errno. */
int fd_socketpair(int fds[2], int type) KEEL_MUST_CHECK;
/* Opens /dev/null for those of descriptors 0 to 2 that are closed, so that nothing else becomes
 * them: for reading only, so that what is written to them still fails (EBADF). */
void fd_fill_standard(void);
void fd_close(int *fd); /* closes if >= 0, sets -1; keeps errno */
/* Blocking write of all bytes, EINTR and short writes handled. 0 or -errno. */
int fd_write_all(int fd, const void *data, size_t size) KEEL_MUST_CHECK;
/* Raises the soft limit of open files to the hard one. */
void fd_raise_limit(void);

#endif
