#include <config.h>

#include <btl/ofi/provider/fabric.h>
#include <btl/ofi/provider/shm.h>
#include <stdio.h>

/* The endpoint of a fabric whose provider was chosen. */
static int start(struct fabric *fabric, const struct fabric_wanted *wanted, char *reason,
                 size_t reason_size)
{
    int status = fabric_start(fabric, wanted, reason, reason_size);
    if (status != ORTE_SUCCESS || !ofi_is_shm(wanted)) {
        return status;
    }
    int rc = ofi_shm_reserve(fabric);
    if (rc != 0) {
        snprintf(reason, reason_size, "provider \"%s\": room for the endpoint: %s",
                 wanted->provider, fabric_strerror(fabric, rc));
        return ORTE_ERR_NOT_AVAILABLE;
    }
    return ORTE_SUCCESS;
}

int ofi_fabric_open(struct fabric *fabric, const struct fabric_wanted *wanted, char *reason,
                    size_t reason_size)
{
    struct fabric_wanted reliable = *wanted;

    reliable.endpoint = FI_EP_RDM;
    int status = fabric_choose(fabric, &reliable, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        if (ofi_is_shm(wanted)) {
            ofi_shm_name(fabric);
        }
        status = start(fabric, &reliable, reason, reason_size);
    }
    if (status == ORTE_ERR_NOT_AVAILABLE && fabric->lib && ofi_is_shm(wanted)) {
        ofi_shm_explain(reason, reason_size);
    }
    return status;
}
