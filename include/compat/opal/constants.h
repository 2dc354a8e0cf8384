#ifndef KEEL_COMPAT_OPAL_CONSTANTS_H
#define KEEL_COMPAT_OPAL_CONSTANTS_H

#include <opal_config.h>

#endif
