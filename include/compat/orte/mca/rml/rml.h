#ifndef KEEL_COMPAT_ORTE_RML_H
#define KEEL_COMPAT_ORTE_RML_H

#include <keel/rml.h>
#include <opal/mca/crs/crs.h>
#include <opal/mca/mca.h>
#include <orte/mca/rml/rml_types.h>
#include <orte/types.h>

#endif
