#ifndef KEEL_COMPAT_OPAL_BITMAP_H
#define KEEL_COMPAT_OPAL_BITMAP_H

#include <keel/bitmap.h>
#include <opal/class/opal_object.h>

#endif
