/* The names that --mca is used with: Keel's parameters, of all its programs and libraries, and Open
 * MPI's. */
#ifndef LAUNCHER_REQUEST_OPTIONS_MCA_NAMES_H
#define LAUNCHER_REQUEST_OPTIONS_MCA_NAMES_H

#include <keel/types.h>

/* Whether the value fits, where the name is a parameter of Keel's and of nobody else.
 * ORTE_ERR_BAD_PARAM: it does not; reason says what would. */
int mca_check(const char *name, const char *value, char *reason, size_t size) KEEL_MUST_CHECK;
/* The parameter of Keel's that was perhaps meant by a name that neither it nor Open MPI has. NULL:
 * the name is known, or like none. */
const char *mca_meant(const char *name);
/* Warns of such names in the environment and in the configuration files. */
void mca_check_given(void);

#endif
