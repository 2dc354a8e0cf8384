/* The messages of wire-up: the first byte of each buffer, and what follows it.
 * docs/architecture.md draws the exchange. */
#ifndef BOOTSTRAP_PROTO_H
#define BOOTSTRAP_PROTO_H

#include <bootstrap/cards.h>
#include <keel/buffer.h>
#include <keel/types.h>

/* Rank to its daemon, on RML_TAG_SERVER. */
enum server_command {
    SERVER_HELLO = 1, /* - */
    SERVER_FENCE,     /* u32 operation, u8 collect, bytes cards */
    SERVER_CARDS,     /* u64 request, u32 rank: this rank's cards, please */
    SERVER_ABORT,     /* i32 status, string reason */
    SERVER_BYE,       /* - */
};

/* Daemon to rank, on RML_TAG_CLIENT. */
enum client_command {
    CLIENT_WELCOME = 1, /* job map */
    CLIENT_FENCE,       /* u32 operation, i32 status, bytes everybody's cards */
    CLIENT_CARDS,       /* u64 request, i32 status, bytes cards */
    CLIENT_BYE,         /* -: the goodbye was heard */
    CLIENT_LOST,        /* -; from the rank to itself: the link to the daemon is down */
};

/* Between daemons, on RML_TAG_COLL_UP and RML_TAG_COLL_DOWN: u32 jobid, u32 operation, i32 status,
 * bytes cards. On RML_TAG_MODEX_ASK: u32 jobid, u32 rank, name of the asking rank, u64 request; on
 * RML_TAG_MODEX_ANSWER: name of the asking rank, u64 request, i32 status, bytes cards. */

/* Bytes as the last field of a message: an OPAL_BYTE_OBJECT. get_bytes hands out malloc'd memory.
 */
int proto_put_bytes(opal_buffer_t *buffer, const void *data, size_t size) KEEL_MUST_CHECK;
int proto_get_bytes(opal_buffer_t *buffer, uint8_t **data, size_t *size) KEEL_MUST_CHECK;
int proto_put(opal_buffer_t *buffer, const void *value, opal_data_type_t type) KEEL_MUST_CHECK;
/* Exactly one value. */
int proto_get(opal_buffer_t *buffer, void *value, opal_data_type_t type) KEEL_MUST_CHECK;
/* The bytes not yet read. */
size_t proto_left(const opal_buffer_t *buffer);

#endif
