/* What the programs of this folder share. They are written as programs for ORTE were, see nothing
 * of Keel's own, and work with any number of ranks. */
#ifndef TESTS_CONFORMANCE_OLD_H
#define TESTS_CONFORMANCE_OLD_H

#include "orte_config.h"

#include "orte/constants.h"
#include "orte/mca/errmgr/errmgr.h"
#include "orte/mca/rml/rml.h"
#include "orte/runtime/orte_globals.h"
#include "orte/runtime/runtime.h"
#include "orte/util/name_fns.h"
#include "orte/util/proc_info.h"

#define MY_TAG 12345

BEGIN_C_DECLS

/* Joins, or ends the program. */
void begin(int *argc, char ***argv);
/* Leaves; the exit code: 1 if a check failed. */
int end(void);

extern int failures;
void check(bool right, const char *what, const char *file, int line);
/* A condition that holds; the program goes on if it does not. */
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

/* The process with this rank in my job. */
orte_process_name_t *rank_name(orte_process_name_t *name, orte_vpid_t vpid);
/* My neighbours in the ring of all ranks. */
orte_process_name_t *right_of(orte_process_name_t *name);
orte_process_name_t *left_of(orte_process_name_t *name);

END_C_DECLS
#endif
