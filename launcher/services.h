/* What keelrun and keeld offer to MPI programs (launcher/node/service.h). */
#ifndef LAUNCHER_SERVICES_H
#define LAUNCHER_SERVICES_H

#include <launcher/node/service.h>

extern const struct service_ops *const launcher_services[SERVICES_MAX]; /* ended by NULL */

#endif
