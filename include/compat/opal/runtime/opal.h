#ifndef KEEL_COMPAT_OPAL_H
#define KEEL_COMPAT_OPAL_H

#include <opal_config.h>

BEGIN_C_DECLS

/* For programs that use opal_dss and the like without a job; orte_init does it by itself. Counted.
 * argc and argv are left alone. */
int opal_init(int *argc, char ***argv) KEEL_PUBLIC(opal_init);
int opal_finalize(void) KEEL_PUBLIC(opal_finalize);

END_C_DECLS
#endif
