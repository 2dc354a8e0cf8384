#ifndef KEEL_COMPAT_OPAL_CRS_BASE_H
#define KEEL_COMPAT_OPAL_CRS_BASE_H

#include <opal/mca/crs/crs.h>

#endif
