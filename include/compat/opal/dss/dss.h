#ifndef KEEL_COMPAT_OPAL_DSS_H
#define KEEL_COMPAT_OPAL_DSS_H

#include <opal/dss/dss_types.h>

#endif
