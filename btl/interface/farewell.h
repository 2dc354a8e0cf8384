/* Losses of peers while this process waits for the others at the end of the job. Who hears first
 * that all have come is gone while others still acknowledge what it sent: they lose it just before
 * they hear the same, and that is no reason for a warning. So warnings are held back until the wait
 * is over. Guarded by the lock, where it is used. */
#ifndef BTL_FAREWELL_H
#define BTL_FAREWELL_H

#include <stdbool.h>

void farewell_begin(void);
/* The wait is over. together: all have come. Then what was lost in the last second, and what is
 * from now on, is information; else all that was held back are warnings. */
void farewell_met(bool together);
/* As before farewell_begin; forgets what is held back. */
void farewell_over(void);
/* A peer is lost: the log gets it as a warning, or as information, now or when the wait is over. */
void farewell_log(const char *text);

#endif
