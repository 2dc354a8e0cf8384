#ifndef KEEL_COMPAT_OPAL_DSS_TYPES_H
#define KEEL_COMPAT_OPAL_DSS_TYPES_H

#include <keel/buffer.h>
#include <opal_config.h>

#endif
