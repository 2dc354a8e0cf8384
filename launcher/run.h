/* What keelrun and keel-dvm have in common: front end, HNP and the loop of both. */
#ifndef LAUNCHER_RUN_H
#define LAUNCHER_RUN_H

#include <launcher/request/run_request.h>
#include <launcher/shepherd/shepherd.h>

/* Writes "PROGRAM: what: why" to standard error, as text; why may be NULL. Returns exit_code. */
int run_complain(int exit_code, const char *what, const char *why);
/* From the submission to the end; ends the shepherd, and writes the report. stands: called on the
 * loop when the DVM of the request stands; NULL for jobs. Returns the exit code. */
int run_until_end(struct shepherd *shepherd, const struct run_request *request,
                  void (*stands)(void *arg), void *arg);
/* What --help and --version have printed may still be in memory. Returns the exit code. */
int run_end_of_text(void);

#endif
