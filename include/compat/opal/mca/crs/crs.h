#ifndef KEEL_COMPAT_OPAL_CRS_H
#define KEEL_COMPAT_OPAL_CRS_H

#include <opal_config.h>

#endif
