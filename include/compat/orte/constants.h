#ifndef KEEL_COMPAT_ORTE_CONSTANTS_H
#define KEEL_COMPAT_ORTE_CONSTANTS_H

#include <orte_config.h>

#endif
