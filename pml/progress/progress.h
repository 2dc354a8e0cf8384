/* What moves messages, and what waits for them. */
#ifndef PML_PROGRESS_H
#define PML_PROGRESS_H

#include <pml/peers/core.h>

/* The PMLs whose progress is up the stack of this thread, the innermost first. */
struct progress_frame {
    const struct pml *pml;
    const struct progress_frame *outer;
};
extern _Thread_local const struct progress_frame *progress_inside
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

static inline bool progress_is_inside(const struct pml *pml)
{
    const struct progress_frame *frame = progress_inside;
    while (frame && frame->pml != pml) {
        frame = frame->outer;
    }
    return frame;
}
/* Nobody may wait inside of progress, the host's included. */
static inline bool progress_may_run(const struct pml *pml)
{
    return !progress_is_inside(pml) && !(pml->host.is_busy && pml->host.is_busy());
}
/* Whatever is under way with anybody ends with this status. */
void progress_end_peers(struct pml *pml, int status);
/* Drives progress once, if done, which is called with the lock, does not say so; whether it then
 * does. */
bool progress_once(struct pml *pml, bool (*done)(void *arg), void *arg);
/* What is waited for, in words; arg as of done. */
typedef void progress_tell_fn(const void *arg, char *text, size_t size);
/* Drives progress until done says so, however often it is asked afterwards; sleeps when nothing
 * happens for some time. tell: what progress_tell calls. RESOURCE_BUSY: inside of progress. */
int progress_until(struct pml *pml, bool (*done)(void *arg), progress_tell_fn *tell,
                   void *arg) KEEL_MUST_CHECK;
/* What this thread waits for, up the stack; "": nothing. */
void progress_tell(char *text, size_t size);

#endif
