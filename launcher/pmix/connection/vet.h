/* Vetting of connections before libpmix sees them: libpmix 4.2.2 reads a connection's first message
 * with blocking calls, believes the user that it names, and hangs after refusing a credential. */
#ifndef LAUNCHER_PMIX_CONNECTION_VET_H
#define LAUNCHER_PMIX_CONNECTION_VET_H

#include <keel/types.h>
#include <stdint.h>
#include <sys/types.h>

#define VET_HEADER_BYTES 16
#define VET_HELLO_MAX 4096 /* header and body; a client's is about 150 bytes, a tool's 600 */
#define VET_NSPACE_MAX 256

enum vet_kind {
    VET_CLIENT,
    VET_TOOL,        /* started by anybody; wants a name */
    VET_TOOL_CLIENT, /* started as a rank */
};

/* What a client or a tool says of itself first. */
struct vet_hello {
    enum vet_kind kind;
    uint32_t uid, gid;           /* its credential */
    char nspace[VET_NSPACE_MAX]; /* "" for VET_TOOL */
    uint32_t rank;
};

enum vet_result { VET_MORE, VET_WELL, VET_BAD };

/* Reads the first message of a PMIx client or tool from its first bytes. Pure. VET_MORE: it is not
 * complete before *need bytes are there; VET_BAD: it is not such a message, *why says what is wrong
 * (static text); VET_WELL: hello is filled. Nothing else is written. */
enum vet_result vet_hello(const uint8_t *bytes, size_t size, struct vet_hello *hello, size_t *need,
                          const char **why) KEEL_MUST_CHECK;

/* Does the other end of this connection, over IPv4 on this host, belong to a living socket of this
 * user? Asks the kernel (sock_diag, else /proc/net/tcp); each takes a second at most. A socket
 * that was closed already, or that cannot be asked for, is nobody's: 0 when it is the user's, else
 * -errno and *why. */
int vet_owner(int fd, uid_t user, const char **why) KEEL_MUST_CHECK;

#endif
