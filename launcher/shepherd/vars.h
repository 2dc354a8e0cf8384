/* Environment variables on their way to a program: strings (strings.h) that are NAME=VALUE, with a
 * memory of what could not be added. */
#ifndef LAUNCHER_SHEPHERD_VARS_H
#define LAUNCHER_SHEPHERD_VARS_H

#include <base/data/strings.h>

struct vars {
    char **strings; /* owned, like its strings; NULL while it is empty */
    bool failed;    /* something is missing: no memory */
};

/* Replaces a variable or adds it; takes the string. NULL: no memory was left for it. */
void vars_set(struct vars *vars, char *assignment);
/* Adds a variable that is known not to be there. */
void vars_append(struct vars *vars, char *assignment);
void vars_format(struct vars *vars, const char *format, ...) KEEL_PRINTF(2, 3);
/* Adds a folder at the end of the list that a variable holds, separated by colons, unless it is
 * there already. */
void vars_add_folder(struct vars *vars, const char *name, const char *folder);
void vars_fini(struct vars *vars);

/* Is this variable another launcher's, of use only to its own processes? Settings that a user makes
 * for MPI (OMPI_MCA_*, PMIX_MCA_*) are not, except for those that launchers make. */
bool vars_is_foreign(const char *assignment);
/* Would srun take this variable for one of its options? What says which job it is in is none. */
bool vars_is_srun_option(const char *assignment);

#endif
