/* The file through which tools find a PMIx server: "pmix.HOST.tool" somewhere below their temporary
 * folder, with links to it that end in the pid and in the namespace of the server. */
#ifndef LAUNCHER_PMIX_CONNECTION_RENDEZVOUS_H
#define LAUNCHER_PMIX_CONNECTION_RENDEZVOUS_H

#include <keel/types.h>

struct rendezvous {
    const char *folder;
    const char *host;   /* as tools on it call it; cut at the first dot, unless it is an address */
    const char *nspace; /* of the server */
    uint32_t rank;
    uint16_t port; /* on 127.0.0.1 */
};

/* Writes the file, readable for this user alone; nobody ever sees a part of it. It goes with its
 * folder. 0 or -errno. */
int rendezvous_write(const struct rendezvous *rendezvous) KEEL_MUST_CHECK;

#endif
