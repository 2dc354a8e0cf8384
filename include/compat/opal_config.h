/* What the original's configure found out, for sources that ask; the C library's headers that its
 * sources could count on. */
#ifndef KEEL_COMPAT_OPAL_CONFIG_H
#define KEEL_COMPAT_OPAL_CONFIG_H

#include <keel/types.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HAVE_LIMITS_H
#define HAVE_LIMITS_H 1
#endif
#ifndef HAVE_STDBOOL_H
#define HAVE_STDBOOL_H 1
#endif
#ifndef HAVE_STDINT_H
#define HAVE_STDINT_H 1
#endif
#ifndef HAVE_STDLIB_H
#define HAVE_STDLIB_H 1
#endif
#ifndef HAVE_STRING_H
#define HAVE_STRING_H 1
#endif
#ifndef HAVE_SYS_TIME_H
#define HAVE_SYS_TIME_H 1
#endif
#ifndef HAVE_SYS_TYPES_H
#define HAVE_SYS_TYPES_H 1
#endif
#ifndef HAVE_SYS_UIO_H
#define HAVE_SYS_UIO_H 1
#endif
#ifndef HAVE_UNISTD_H
#define HAVE_UNISTD_H 1
#endif

/* 1: OPAL_OUTPUT and OPAL_OUTPUT_VERBOSE write; 0: they are nothing. */
#ifndef OPAL_ENABLE_DEBUG
#define OPAL_ENABLE_DEBUG 0
#endif

#endif
