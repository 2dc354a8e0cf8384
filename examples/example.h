/* What the smaller examples use: whatever fails ends the job with a word. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <keel/keel.h>

#include <stdio.h>
#include <stdlib.h>

static inline void check(int status, const char *what)
{
    if (status < 0) {
        keel_abort(1, "%s: %s", what, opal_strerror(status));
    }
}

/* The best rail to a rank of this job, which must have this: MCA_BTL_FLAGS_PUT, say. */
static inline const struct keel_rail *rail_to(uint32_t rank, uint32_t flags)
{
    orte_process_name_t peer = {keel_my_name()->jobid, rank};
    size_t count;
    const struct keel_rail *rails = keel_rails(&peer, &count);
    if (count == 0 || (rails->btl->btl_flags & flags) != flags) {
        keel_abort(1, "the rail to rank %u has not what this needs", rank);
    }
    return rails;
}

#endif
