/* One way to call each function that sends or receives. */
#ifndef TESTS_CONFORMANCE_RML_CALL_H
#define TESTS_CONFORMANCE_RML_CALL_H

#include <tests/conformance/rml/matrix.h>
#include <tests/lib/pattern.h>

/* An operation under way: what it was given and what it came to. */
struct call {
    const struct cell *cell;
    orte_rml_tag_t tag;
    int status;   /* what a blocking call returned, or the callback got */
    int ended;    /* how often */
    bool done;    /* at least once */
    bool nothing; /* the callback's buffer was NULL */
    orte_process_name_t peer;
    /* received */
    uint8_t *data; /* owned */
    size_t size;
    int wanted; /* for persistent ones: done after so many */
    /* sending and space */
    struct iovec parts[3];
    int count;
    opal_buffer_t *buffer;
    void (*then)(struct call *call); /* at the end of the callback; NULL: nothing */
};

/* The tag of a cell: each has its own, in case something is left over. */
orte_rml_tag_t cell_tag(const struct cell *cell);

/* The bare call; arguments that the function does not have are left out. */
struct arguments {
    orte_process_name_t *peer;
    struct iovec *msg;
    int count;
    opal_buffer_t *buffer;
    orte_rml_tag_t tag;
    int flags;
    orte_rml_callback_fn_t iov_fn;
    orte_rml_buffer_callback_fn_t buffer_fn;
    void *cbdata;
};
int call_raw(enum fn fn, struct arguments arguments);

/* Sends data by the cell's function and flags; returns what the call returned. A blocking call has
 * ended then, and a non-blocking one has not: its callback never runs inside it. The memory lasts
 * until call_fini. */
int call_send(struct call *call, const struct cell *cell, const orte_process_name_t *peer,
              orte_rml_tag_t tag, const void *data, size_t size);
/* Receives likewise, into space for so many bytes. */
int call_receive(struct call *call, const struct cell *cell, const orte_process_name_t *peer,
                 orte_rml_tag_t tag, size_t space);
/* Sends or receives with a scatter list of the test's. */
int call_list(struct call *call, const struct cell *cell, const orte_process_name_t *peer,
              orte_rml_tag_t tag, struct iovec *msg, int count);
void call_wait(struct call *call);
/* Frees what was received, to receive more. */
void call_reset(struct call *call);
void call_fini(struct call *call);

/* Plain messages, for what is not under test: as bytes, or as a buffer for those functions. */
void say(const orte_process_name_t *peer, orte_rml_tag_t tag, bool as_buffer, const void *data,
         size_t size);
/* Waits for one; the bytes must be these. */
void hear(const orte_process_name_t *peer, orte_rml_tag_t tag, bool as_buffer, const void *data,
          size_t size);
/* My left neighbour's messages until now have arrived, and so have mine at the right one. */
void settle(void);

#endif
