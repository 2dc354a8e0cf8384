#ifndef KEEL_COMPAT_OPAL_MCA_H
#define KEEL_COMPAT_OPAL_MCA_H

#include <opal_config.h>

#endif
