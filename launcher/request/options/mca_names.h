/* The names that --mca is used with: Keel's parameters, of all its programs and libraries, and Open
 * MPI's. */
#ifndef LAUNCHER_REQUEST_OPTIONS_MCA_NAMES_H
#define LAUNCHER_REQUEST_OPTIONS_MCA_NAMES_H

#include <keel/types.h>

/* Whether the value fits, where the name is a parameter of Keel's and of nobody else.
 * ORTE_ERR_BAD_PARAM: it does not; reason says what would. */
int mca_check(const char *name, const char *value, char *reason, size_t size) KEEL_MUST_CHECK;
/* Whether a name that neither Keel nor Open MPI has is nearly that of a parameter of Keel's, or
 * begins with two words as one does: text (MCA_WHY_MAX bytes are enough) says so, and which are
 * nearest. */
#define MCA_WHY_MAX 512
bool mca_is_unknown(const char *name, char *text, size_t size) KEEL_MUST_CHECK;
/* Warns of such names in the environment and in the configuration files. */
void mca_check_given(void);

#endif
