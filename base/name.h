/* Process names compared as the runtime does: both fields, wildcards are values like others. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <keel/types.h>
#include <stdbool.h>

static inline bool name_equal(const orte_process_name_t *a, const orte_process_name_t *b)
{
    return a->jobid == b->jobid && a->vpid == b->vpid;
}
/* By job, then by rank. */
static inline int name_compare(const orte_process_name_t *a, const orte_process_name_t *b)
{
    if (a->jobid != b->jobid) {
        return a->jobid < b->jobid ? -1 : 1;
    }
    return a->vpid < b->vpid ? -1 : a->vpid > b->vpid;
}

#endif
