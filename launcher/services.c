#include <config.h>

#include <launcher/services.h>

#include <launcher/pmi1/pmi1.h>
#ifdef OFFER_PMIX
#include <launcher/pmix/pmix_service.h>
#endif

const struct service_ops *const launcher_services[SERVICES_MAX] = {
#ifdef OFFER_PMIX
    &pmix_service_ops,
#endif
    &pmi1_service_ops,
};
