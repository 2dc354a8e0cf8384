/* The PML of this process, for the room that makes a process what it is: as keel_pml_open_on and
 * keel_pml_close. */
#ifndef PML_PROCESS_H
#define PML_PROCESS_H

#include <pml/interface/base.h>

/* Over the rails of this process; keel_pml_close does not close it. EXISTS: one is open. */
int pml_process_open(const struct pml_host *host) KEEL_MUST_CHECK;
/* Ends whatever is under way, and closes it with the contexts that are open; nothing if there is
 * none. */
void pml_process_end(void);
/* Runs the users' callbacks that are due, after the host's progress; returns how many requests
 * ended. */
int pml_process_run_callbacks(void);
/* One of them is up the stack. */
bool pml_process_in_callback(void);
/* What this thread waits for, as in "in a receive from 3 with tag 12"; "": nothing. */
void pml_process_tell(char *text, size_t size);
/* What keel_pml_stats has, of all contexts and ranks: likewise. */
size_t pml_process_stats(struct keel_pml_stat *stats, size_t count);

#endif
