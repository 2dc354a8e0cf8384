/* The PML of this process, for the room that makes a process what it is: as keel_pml_open_on and
 * keel_pml_close. */
#ifndef PML_PROCESS_H
#define PML_PROCESS_H

#include <pml/base.h>

/* Over the rails of this process; keel_pml_close does not close it. EXISTS: one is open. */
int pml_process_open(const struct pml_host *host) KEEL_MUST_CHECK;
/* Ends whatever is under way, and closes it with the contexts that are open; nothing if there is
 * none. */
void pml_process_end(void);
/* What is left to do after the host's progress has driven the rails; returns how many requests
 * ended. */
int pml_process_settle(void);
/* In a child made by fork: it is the parent's. */
void pml_process_forget(void);

#endif
