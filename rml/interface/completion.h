/* A callback that is due: embedded in what it completes, queued in the order of completion and run
 * by rml/state/dispatch.c without a lock held. */
#ifndef RML_COMPLETION_H
#define RML_COMPLETION_H

#include <base/data/list.h>

struct rml;

struct rml_completion {
    struct list link;
    bool recursive; /* may run while another callback blocks */
    bool aside;     /* no callback (rml_defer): all callbacks may run while it blocks */
    /* Exactly one of the two is called, once; both end the object that embeds this. */
    void (*run)(struct rml *rml, struct rml_completion *completion);
    void (*drop)(struct rml *rml, struct rml_completion *completion); /* without the callback */
};

#endif
