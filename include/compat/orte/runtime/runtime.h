/* Joining and leaving the job. */
#ifndef KEEL_COMPAT_ORTE_RUNTIME_H
#define KEEL_COMPAT_ORTE_RUNTIME_H

#include <orte/runtime/orte_globals.h>

BEGIN_C_DECLS

/* orte_init joins the job, as keel_init does, without a data plane; type is ORTE_PROC_NON_MPI and
 * the like, and argc and argv are left alone. A second call does nothing. ORTE_ERR_NOT_SUPPORTED:
 * daemons are Keel's own. Else keel_init's errors. Versions 1.3 and 1.4 had another signature: a
 * source of theirs defines KEEL_COMPAT_ORTE_1_3 before it includes this. */
#define ORTE_NON_TOOL 0x00
#define ORTE_TOOL 0x01
#define ORTE_TOOL_WITH_NAME 0x02
#ifdef KEEL_COMPAT_ORTE_1_3
int orte_init(char flags) KEEL_PUBLIC(orte_init_1_3);
#else
int orte_init(int *argc, char ***argv, orte_proc_type_t type) KEEL_PUBLIC(orte_init);
#endif

/* Leaves the job, as keel_finalize does, and frees everything. ORTE_SUCCESS too when there is
 * nothing to leave. */
int orte_finalize(void) KEEL_PUBLIC(orte_finalize);

END_C_DECLS
#endif
