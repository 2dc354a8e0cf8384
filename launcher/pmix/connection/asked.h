/* What a PMIx client has asked for and waits for, read from the bytes between it and libpmix:
 * libpmix tells of a fence only when all ranks of the node are in it.
 *
 * A message is a header (tag and size), and a body that begins with a command; an answer has the
 * tag of its request. One that is packed otherwise is passed over. Fed by the one thread that reads
 * and writes the connection, looked at by any. */
#ifndef LAUNCHER_PMIX_CONNECTION_ASKED_H
#define LAUNCHER_PMIX_CONNECTION_ASKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASKED_HEADER_BYTES = 16, ASKED_COMMAND_BYTES = 2 };

struct asked {
    uint8_t head[ASKED_HEADER_BYTES + ASKED_COMMAND_BYTES]; /* of the message that arrives */
    uint64_t at;                                            /* so much of it has */
    size_t unsent;                        /* of an answer that the socket took in part */
    uint32_t fence_tag, call_tag;         /* of what is not answered; 0: nothing */
    atomic_uint fences, fence_open, call; /* for asked_look */
    _Atomic uint64_t began_us, moved_us;
};

struct asked_view {
    unsigned fences;   /* that it has entered, the one that it is in included */
    bool in_fence;     /* the last of them */
    const char *call;  /* another call that it is in, a constant; NULL: none */
    uint64_t began_us; /* when the connection was new */
    uint64_t moved_us; /* when it last asked for something; 0: never */
};

/* A new connection; by whom accepts it, before its first byte is read. */
void asked_begin(struct asked *asked);
/* The next bytes that the client sent. */
void asked_read(struct asked *asked, const uint8_t *bytes, size_t size);
/* libpmix has written an answer, or what was left of it: its first part, and how much of all parts
 * the socket has not taken. An answer begins with its header. */
void asked_written(struct asked *asked, const uint8_t *first, size_t size, size_t unsent);
struct asked_view asked_look(struct asked *asked);

#endif
