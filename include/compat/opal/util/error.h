#ifndef KEEL_COMPAT_OPAL_ERROR_H
#define KEEL_COMPAT_OPAL_ERROR_H

#include <opal_config.h>

#endif
