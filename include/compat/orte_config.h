#ifndef KEEL_COMPAT_ORTE_CONFIG_H
#define KEEL_COMPAT_ORTE_CONFIG_H

#include <opal_config.h>

#endif
