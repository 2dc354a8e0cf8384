/* What moves messages, and what waits for them. */
#ifndef PML_PROGRESS_H
#define PML_PROGRESS_H

#include <pml/core.h>

/* As of pml_progress, at this time. */
int progress_at(struct pml *pml, uint64_t now_ns);
/* Nobody may wait inside of progress, the host's included. */
static inline bool progress_may_run(const struct pml *pml)
{
    return !pml->inside && !(pml->host.is_busy && pml->host.is_busy());
}
/* Whatever is under way with anybody ends with this status. */
void progress_end_peers(struct pml *pml, int status);
/* Drives progress until done says so. RESOURCE_BUSY: inside of progress. */
int progress_until(struct pml *pml, bool (*done)(void *arg), void *arg) KEEL_MUST_CHECK;

#endif
