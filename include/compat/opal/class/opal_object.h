#ifndef KEEL_COMPAT_OPAL_OBJECT_H
#define KEEL_COMPAT_OPAL_OBJECT_H

#include <keel/object.h>
#include <opal_config.h>

#endif
