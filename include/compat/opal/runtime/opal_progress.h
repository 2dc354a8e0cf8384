#ifndef KEEL_COMPAT_OPAL_PROGRESS_H
#define KEEL_COMPAT_OPAL_PROGRESS_H

#include <opal_config.h>

BEGIN_C_DECLS

/* Runs the callbacks that are due; yields the processor when there was none. */
void opal_progress(void) KEEL_PUBLIC(opal_progress);

END_C_DECLS
#endif
