/* What this machine is called. */
#ifndef BASE_HOSTNAME_H
#define BASE_HOSTNAME_H

#include <keel/types.h>

void host_name(char *name, size_t size); /* ended, cut where it does not fit */
/* Whether a host's name means the machine that calls itself own: that name, whole or up to the
 * first dot, or one of those that mean the own machine everywhere. */
bool host_is_local(const char *name, const char *own);
/* Whether two names mean one host: the same, or one is the other up to its first dot. */
bool host_same(const char *a, const char *b);

#endif
