/* Process names compared as the runtime does: both fields, wildcards are values like others. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <keel/types.h>
#include <stdbool.h>

static inline bool name_equal(const orte_process_name_t *a, const orte_process_name_t *b)
{
    return a->jobid == b->jobid && a->vpid == b->vpid;
}

#endif
