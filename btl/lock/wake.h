/* What wakes the progress thread (btl/progress/thread.h), which may sleep in the kernel, for those
 * who leave work for it. All of it with the lock held. */
#ifndef BTL_WAKE_H
#define BTL_WAKE_H

#include <keel/types.h>

struct btl_wake {
    int fd;              /* an eventfd, which the thread sleeps on; -1: there is no thread */
    bool sleeps;         /* without end, so a stir wakes it */
    unsigned long polls; /* of other threads */
};
extern struct btl_wake btl_wake;

/* Makes fd readable. */
void btl_wake_ring(void);
/* A call has been made that may leave work for progress. */
void btl_wake_stir(void);
/* The calling thread is about to poll. The progress thread stands back, and looks again. */
void btl_wake_note_poll(void);

#endif
