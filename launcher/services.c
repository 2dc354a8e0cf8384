#include <config.h>

#include <launcher/services.h>

#include <launcher/pmi1/pmi1.h>
#ifdef OFFER_PMIX
#include <launcher/pmix/offer.h>
#endif

const struct service_ops *const launcher_services[SERVICES_MAX] = {
#ifdef OFFER_PMIX
    &pmix_service,
#endif
    &pmi1_service,
};
