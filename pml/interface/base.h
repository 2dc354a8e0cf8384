/* What the PML asks of the process that it works for, and its life. keel_pml_open_on is one user of
 * it; a process that has called keel_init has another. One thread at a time, unless the host has a
 * lock: any thread then (pml/README.md). */
#ifndef PML_BASE_H
#define PML_BASE_H

#include <keel/pml.h>
#include <ptl/base.h>

struct pollfd;
struct pml; /* messages of one process, over its PTLs */

struct pml_host {
    const opal_proc_t *me;                         /* borrowed, as all processes, until pml_close */
    size_t job_size;                               /* 0: contexts name their members */
    opal_proc_t *(*proc)(void *arg, size_t index); /* of the job; NULL for a job of 0 */
    /* Drives what is not the PTLs', without waiting. It may call pml_progress, which then does
     * nothing. May be NULL. */
    int (*progress)(void *arg);
    /* The PTLs cannot be driven from here: a callback of theirs calls. NULL: they always can. */
    bool (*is_busy)(void);
    /* Where several threads use the PTLs: the recursive lock that they hold when they call up, and
     * when pml_settle is called. leaves_work: progress has something to do. NULL: one thread at a
     * time uses them. */
    void (*lock)(void);
    void (*unlock)(bool leaves_work);
    /* For calls that wait; rest NULL: they poll without end. Sleeps until wake is called, or the
     * host has something to do, or one of the descriptors but the first, which is free for the
     * host's own, has; but not beyond a time (clock_us). watch NULL: there are none. With rest
     * there is events. */
    void (*rest)(void *arg, uint64_t until_us, struct pollfd *watch, size_t count);
    /* Calls rest with descriptors that end it when a PTL has something to do. False: it did not,
     * because one may have, or has to be polled. NULL: they have no descriptors. */
    bool (*rest_on_ptls)(void (*rest)(void *arg, uint64_t until_us, struct pollfd *watch,
                                      size_t count),
                         void *arg, uint64_t until_us);
    void (*wake)(void *arg);  /* with the lock; may be NULL */
    uint64_t (*events)(void); /* that the PTLs' progress has had so far */
    bool has_thread;          /* one drives the PTLs while others rest */
    /* A monotonic clock, for the speed of rails. NULL: the process's. */
    uint64_t (*clock_ns)(void *arg);
    void *arg;
};

/* components: as of ptl_open. NOT_AVAILABLE: no module; OUT_OF_RESOURCE. */
int pml_open(struct pml **pml, const struct pml_host *host,
             mca_ptl_base_component_t *const *components) KEEL_MUST_CHECK;
/* RESOURCE_BUSY: a context is open, and nothing happened. */
int pml_close(struct pml *pml) KEEL_MUST_CHECK;
/* Closes it with the contexts that are open; what is under way ends. */
void pml_abandon(struct pml *pml);
/* As keel_pml_progress and keel_pml_context_open, of this PML. */
int pml_progress(struct pml *pml);
/* Its parts, where others drive the PTLs: what is to be done outside of the modules, with the lock;
 * users' callbacks, which returns how many requests ended. */
void pml_settle(struct pml *pml);
int pml_run_callbacks(struct pml *pml);
/* A user's callback is up the stack of this thread. */
bool pml_in_callback(void);
int pml_context_open(struct pml *pml, uint32_t id, opal_proc_t *const *members, size_t size,
                     int32_t rank, struct keel_pml_context **context) KEEL_MUST_CHECK;

#endif
