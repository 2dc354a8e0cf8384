/* Process names compared as the runtime does: both fields, wildcards are values like others; and
 * their 8 bytes on Keel's own wires. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <base/data/le.h>
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

static inline void name_put(uint8_t *at, const orte_process_name_t *name)
{
    put_le32(at, name->jobid);
    put_le32(at + 4, name->vpid);
}

static inline orte_process_name_t name_get(const uint8_t *at)
{
    return (orte_process_name_t){get_le32(at), get_le32(at + 4)};
}

#endif
