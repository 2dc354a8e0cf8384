/* Waiting while messages are served, and acting on a message outside its callback. */
#ifndef KEEL_COMPAT_ORTE_WAIT_H
#define KEEL_COMPAT_ORTE_WAIT_H

#include <keel/rml.h>
#include <opal/class/opal_object.h>
#include <opal/runtime/opal_progress.h>
#include <orte/types.h>

BEGIN_C_DECLS

/* Runs callbacks until failed is true or counter has reached limit. The three are read again on
 * every turn. Between turns in which nothing happens it sleeps for at most a millisecond. */
#define ORTE_PROGRESSED_WAIT(failed, counter, limit) \
    do {                                             \
        while (!(failed) && (counter) < (limit)) {   \
            keel_compat_turn();                      \
        }                                            \
    } while (0)
void keel_compat_turn(void) KEEL_EXPORT;

/* A message on its way from a receive callback to the code that acts on it. */
typedef struct orte_message_event_t {
    opal_object_t super;
    orte_process_name_t sender;
    opal_buffer_t *buffer; /* owned */
    orte_rml_tag_t tag;
} orte_message_event_t;
extern const opal_class_t orte_message_event_t_class KEEL_PUBLIC(orte_message_event_t_class);

typedef void (*keel_compat_event_fn)(int fd, short event, void *message_event);

/* Copies sender, tag and what buffer has not unpacked yet into a new orte_message_event_t, which
 * callback gets (with -1 and 1) when callbacks run the next time, but outside of all of them: it
 * may block, and messages are served meanwhile. It ends with OBJ_RELEASE on the event. Without
 * memory, or outside of orte_init and orte_finalize, an error is logged and nothing happens. */
#define ORTE_MESSAGE_EVENT(sender, buffer, tag, callback) \
    keel_compat_message_event((sender), (buffer), (tag), (callback))
void keel_compat_message_event(const orte_process_name_t *sender, opal_buffer_t *buffer,
                               orte_rml_tag_t tag, keel_compat_event_fn callback) KEEL_EXPORT;

END_C_DECLS
#endif
