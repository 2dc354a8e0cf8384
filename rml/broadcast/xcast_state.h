/* What the two files of broadcasts share. */
#ifndef RML_XCAST_STATE_H
#define RML_XCAST_STATE_H

#include <rml/broadcast/cast.h>
#include <rml/broadcast/cast_wire.h>
#include <rml/state/state.h>

/* Control and application: each has broadcasts, numbers and an order of its own. */
enum { RML_CASTS = 2 };

struct rml_xcast {
    struct rml_cast casts[RML_CASTS]; /* in daemons; the loop's own */
    uint64_t window;

    /* guarded by the RML's lock */
    uint64_t number;  /* of this process's last */
    struct list owns; /* struct own (rml/broadcast/xcast.c), ascending */
    size_t own_bytes;
    bool room; /* another may begin */
};

/* --- xcast.c --- */

/* Sends a header alone. */
void rml_xcast_say(struct rml *rml, const orte_process_name_t *peer, enum oob_class class,
                   const struct rml_cast_header *header);
/* Delivers a broadcast's payload in this process. holder: whose credit it takes until it is
 * consumed; NULL: nobody's. */
void rml_xcast_deliver(struct rml *rml, enum oob_class class, const struct rml_cast_header *header,
                       const opal_buffer_t *buffer, const orte_process_name_t *holder);

/* --- xcast_tree.c: daemons, on the loop --- */

/* A message about broadcasts; false: it may not be, or not from there. */
bool rml_xcast_hear(struct rml *rml, const struct rml_info *info, struct rml_cast_header *header,
                    opal_buffer_t **buffer);
/* Frees what is kept. */
void rml_xcast_drop(struct rml_cast *cast);

#endif
