#ifndef KEEL_COMPAT_OPAL_TYPES_H
#define KEEL_COMPAT_OPAL_TYPES_H

#include <opal_config.h>

#endif
