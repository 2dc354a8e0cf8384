/* What a standing daemon tells a daemon in reserve, on a socket that this has as RANK_SOCKET: whose
 * job it is to serve, and the text of home.h, in a frame (wireup/frame.h). When it has nothing of
 * the job any more, and may serve the next one, it answers with a byte. */
#ifndef LAUNCHER_NODE_ORDERS_HOSTING_H
#define LAUNCHER_NODE_ORDERS_HOSTING_H

#include <keel/buffer.h>
#include <keel/types.h>

#define HOSTING_SIZE_MAX (8u << 20) /* bytes of it: what keelrun may say about its job */
#define HOSTING_JOBS_MAX 100u
#define HOSTING_KIB_MAX (64L * 1024)

struct hosting {
    uint32_t mask; /* the submitter's umask */
    char **env;    /* and environment */
    uint8_t *text;
    size_t size;
};

/* "u umask, b text, strings the environment", behind what the buffer has. */
int hosting_pack(opal_buffer_t *buffer, const struct hosting *hosting) KEEL_MUST_CHECK;
/* All in it is malloc'd. Wants its hosting_fini. */
int hosting_unpack(opal_buffer_t *buffer, struct hosting *hosting) KEEL_MUST_CHECK;
/* May a daemon that has served so many jobs, and had so many KiB of memory at most, serve another
 * one? What it might keep of them is bounded. */
bool hosting_serves_on(uint32_t jobs, long peak_kib);
/* Wipes the text: the job's key is in it. */
void hosting_fini(struct hosting *hosting);

#endif
