/* Sources of 1.3 and before include it for what the RML has. */
#ifndef KEEL_COMPAT_ORTE_OOB_BASE_H
#define KEEL_COMPAT_ORTE_OOB_BASE_H

#include <opal/class/opal_list.h>
#include <orte/mca/rml/rml.h>

#endif
