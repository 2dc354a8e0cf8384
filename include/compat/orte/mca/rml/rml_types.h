#ifndef KEEL_COMPAT_ORTE_RML_TYPES_H
#define KEEL_COMPAT_ORTE_RML_TYPES_H

#include <keel/rml.h>
#include <orte_config.h>

#endif
