/* PMIx for the ranks of a job: the service of service.h, for Open MPI and everything else that
 * speaks PMIx. */
#ifndef LAUNCHER_PMIX_PMIX_SERVICE_H
#define LAUNCHER_PMIX_PMIX_SERVICE_H

#include <launcher/node/service.h>

extern const struct service_ops pmix_service_ops;

#endif
