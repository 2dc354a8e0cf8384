/* A received message: its bytes and what is known of them. One owner at a time: the assembly, the
 * unexpected queue, or the completion that will hand it to a receive. */
#ifndef RML_MESSAGE_H
#define RML_MESSAGE_H

#include <base/data/list.h>
#include <rml/interface/completion.h>
#include <rml/interface/core.h>
#include <rml/message/rml_wire.h>

struct rml_posted;
struct rml_peer;

struct rml_message {
    struct list link;                 /* in the unexpected queue */
    struct rml_completion completion; /* once it is matched */
    struct rml_posted *posted;        /* the receive it was matched with; borrowed */
    struct rml_info info;
    enum rml_format format;
    struct rml_peer *origin; /* whose credit it takes until it is consumed; NULL: nobody's */
    uint64_t arrival;        /* its number in the order of arrival, set by the matching */
    size_t size;             /* of the whole message */
    uint8_t *data;           /* owned; malloc'd; NULL when size is 0 */
};

/* The message's data is a copy of the scatter list's bytes, or not yet there when parts is NULL.
 * NULL: no memory. */
struct rml_message *rml_message_create(const struct rml_info *info, enum rml_format format,
                                       const struct iovec *parts, size_t count);
struct rml_message *rml_message_clone(const struct rml_message *message);
void rml_message_destroy(struct rml_message *message);

/* Delivers into a receive's scatter list by its flags: ORTE_RML_ALLOC puts the message's own memory
 * into parts[0] (the caller frees it) and takes it from the message, else the bytes are copied as
 * far as there is space, and a large message's are gone from it then. Returns the bytes delivered,
 * or with ORTE_RML_TRUNC the message's size. */
int rml_message_scatter(struct rml_message *message, struct iovec *parts, int count, int flags);
/* Hands the message's memory to a constructed buffer, which is emptied first. */
int rml_message_load(struct rml_message *message, opal_buffer_t *buffer) KEEL_MUST_CHECK;

/* Bytes of a scatter list; SIZE_MAX when the sum is above INT_MAX. */
size_t rml_iov_size(const struct iovec *parts, size_t count);
/* Copies its bytes, for which there is room. */
void rml_iov_gather(uint8_t *data, const struct iovec *parts, size_t count);
/* Is it a list that an application may pass? An empty one may be NULL. */
bool rml_parts_valid(const struct iovec *parts, int count);

/* A buffer that owns malloc'd bytes. NULL, and the bytes are freed: no memory. NULL bytes stand for
 * ones that there was no memory for. */
opal_buffer_t *rml_buffer_take(uint8_t *bytes, size_t size);
enum rml_format rml_format_of(opal_dss_buffer_type_t type);

#endif
