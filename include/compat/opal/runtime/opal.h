#ifndef KEEL_COMPAT_OPAL_H
#define KEEL_COMPAT_OPAL_H

#include <opal_config.h>

BEGIN_C_DECLS

/* For programs that use opal_dss and the like without a job; orte_init does it by itself. Counted.
 * argc and argv are left alone. Versions 1.3 and 1.4 had no arguments: a source of theirs defines
 * KEEL_COMPAT_ORTE_1_3 before it includes this. */
#ifdef KEEL_COMPAT_ORTE_1_3
int opal_init(void) KEEL_PUBLIC(opal_init_1_3);
#else
int opal_init(int *argc, char ***argv) KEEL_PUBLIC(opal_init);
#endif
int opal_finalize(void) KEEL_PUBLIC(opal_finalize);

/* The original's first half, which is all there is here. */
#define opal_init_util opal_init
#define opal_finalize_util opal_finalize

END_C_DECLS
#endif
