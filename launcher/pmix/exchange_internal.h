/* What exchange.c and its keeper of names share. */
#ifndef LAUNCHER_PMIX_EXCHANGE_INTERNAL_H
#define LAUNCHER_PMIX_EXCHANGE_INTERNAL_H

#include <launcher/pmix/exchange.h>

/* The first byte of a message between daemons on RML_TAG_PMIX. */
enum exchange_message {
    MESSAGE_MODEX = 1, /* q request, u number of the rank in the job */
    MESSAGE_PUBLISH, /* q request, s namespace, u rank, c range, c persistence, u count, count x (s
                      * key, b value) */
    MESSAGE_LOOKUP,  /* q request, s namespace, u rank, c range, u wait, u timeout s, u count, count
                      * x s key */
    MESSAGE_UNPUBLISH, /* q request, s namespace, u rank, u count, count x s key (none: all) */
    MESSAGE_ANSWER,    /* q request, i status, b data */
    MESSAGE_EVENT,     /* b event */
};

enum { KEYS_MAX = 4096 };

struct keeper;

int keeper_create(struct keeper **keeper, struct daemon *daemon) KEEL_MUST_CHECK;
void keeper_destroy(struct keeper *keeper);
/* A MESSAGE_PUBLISH, MESSAGE_LOOKUP or MESSAGE_UNPUBLISH of a daemon; answers it, perhaps later. */
int keeper_take(struct keeper *keeper, uint32_t daemon, uint8_t message,
                opal_buffer_t *buffer) KEEL_MUST_CHECK;

/* exchange.c: takes the buffer, which may be NULL (no memory). */
int exchange_send(struct daemon *daemon, uint32_t vpid, opal_buffer_t *buffer);
void exchange_answer(struct daemon *daemon, uint32_t vpid, uint64_t request, pmix_status_t status,
                     const void *data, size_t size);

#endif
