/* The messages of wire-up and launching: buffers packed and read by a format, one letter a value:
 *
 *   c uint8_t    u uint32_t    i int32_t    q uint64_t    n orte_process_name_t
 *   s string: const char * in, malloc'd char * out (never NULL)
 *   b bytes: const void *, size_t in; malloc'd uint8_t * (NULL for none), size_t * out
 *
 * The first byte of each message says what it is. */
#ifndef WIREUP_PROTO_H
#define WIREUP_PROTO_H

#include <keel/buffer.h>
#include <keel/types.h>

/* Rank to its daemon, on RML_TAG_SERVER. */
enum server_command {
    SERVER_HELLO = 1, /* - */
    SERVER_FENCE,     /* u operation, c collect, b cards */
    SERVER_CARDS,     /* q request, u rank: this rank's cards, please */
    SERVER_ABORT,     /* i status, s reason */
    SERVER_BYE,       /* c all ranks leave: they have passed a fence for it */
    SERVER_LOOK,      /* u number, s what it waits in, "" for nothing, b counters (look.h) */
};

/* Daemon to rank, on RML_TAG_CLIENT. */
enum client_command {
    CLIENT_WELCOME = 1, /* job map */
    CLIENT_FENCE,       /* u operation, i status, b everybody's cards */
    CLIENT_CARDS,       /* q request, i status, b cards */
    CLIENT_BYE,         /* -: the goodbye was heard */
    CLIENT_LOST,        /* -; from the rank to itself: the link to the daemon is down */
    CLIENT_ENDED,       /* u count, count u: these ranks have failed, and the job goes on */
    CLIENT_LOOK,        /* u number: what do you do? Answered from within Keel */
};

/* Tool to HNP, on ORTE_RML_TAG_TOOL, and the answer, which begins with the same byte and number. */
enum tool_command {
    TOOL_NAME = 1, /* q number; answer: q number, i status, n name. From a guest */
    TOOL_JOB,      /* q number; answer: q number, i status, u jobid, u ranks */
    TOOL_LOST,     /* -; from the tool to itself: the link to the HNP is down */
    TOOL_LOOK,     /* q number, c stacks, too; answer: q number, i status, and where that is
                    * ORTE_SUCCESS what look_pack writes (wireup/look.h) */
};
/* The local job numbers of tools, and of guests: tools that are yet to get a name. */
#define TOOL_JOB_NUMBER 0xfff1u
#define GUEST_JOB_NUMBER 0xfff0u
#define TOOLS_MAX 1024u          /* vpids of tools are below it, ... */
#define GUESTS_MAX 1024u         /* ... and those of guests below this */
#define DAEMON_SOCKET "oob"      /* a daemon's unix socket, in its session folder */
#define TOOL_KEY_FILE "tool.key" /* beside the HNP's: KEY_BYTES, only for its owner */

/* Between daemons, without a first byte: on RML_TAG_MODEX_ASK "uunq" jobid, rank, the asking rank's
 * name, request; on RML_TAG_MODEX_ANSWER "nqib" the asking rank's name, request, status, cards. */

/* A message of this kind with these values. NULL: no memory, or bytes above INT32_MAX. */
opal_buffer_t *proto_new(uint8_t kind, const char *format, ...);
/* The same without a first byte. */
opal_buffer_t *proto_new_bare(const char *format, ...);
/* Adds values; on error the buffer is as it was or shorter than wished: drop it. */
int proto_pack(opal_buffer_t *buffer, const char *format, ...) KEEL_MUST_CHECK;
/* The message itself when status, that of what was last put into it, is ORTE_SUCCESS; else NULL,
 * and the message is released. It may be NULL. */
opal_buffer_t *proto_whole(opal_buffer_t *buffer, int status) KEEL_MUST_CHECK;
/* Reads values. On error everything malloc'd is freed again and all strings and bytes are NULL. */
int proto_unpack(opal_buffer_t *buffer, const char *format, ...) KEEL_MUST_CHECK;
/* An array of exactly count numbers, malloc'd; no more than the bytes that are left is allocated.
 */
int proto_unpack_u32s(opal_buffer_t *buffer, uint32_t count, uint32_t **numbers) KEEL_MUST_CHECK;
/* A NULL-ended array of strings, as base/data/strings.h has them; what is unpacked is malloc'd.
 * ORTE_ERR_BAD_PARAM: there are more than a million. */
int proto_pack_strings(opal_buffer_t *buffer, char *const *strings) KEEL_MUST_CHECK;
int proto_unpack_strings(opal_buffer_t *buffer, char ***strings) KEEL_MUST_CHECK;
/* The bytes not yet read. */
size_t proto_left(const opal_buffer_t *buffer);

#endif
