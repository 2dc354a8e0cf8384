#include <config.h>

#include <launcher/node/orders/hosting.h>

#include <base/data/crypto.h>
#include <base/data/strings.h>
#include <launcher/node/orders/home.h>
#include <stdlib.h>
#include <wireup/proto.h>

int hosting_pack(opal_buffer_t *buffer, const struct hosting *hosting)
{
    int status = proto_pack(buffer, "ub", hosting->mask, hosting->text, hosting->size);
    return status == OPAL_SUCCESS ? proto_pack_strings(buffer, hosting->env) : status;
}

int hosting_unpack(opal_buffer_t *buffer, struct hosting *hosting)
{
    *hosting = (struct hosting){0};
    int status = proto_unpack(buffer, "ub", &hosting->mask, &hosting->text, &hosting->size);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &hosting->env);
    }
    bool valid = hosting->size > 0 && hosting->size <= HOME_SIZE_MAX && hosting->mask <= 0777 &&
                 proto_left(buffer) == 0;
    if (status == OPAL_SUCCESS && !valid) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status != OPAL_SUCCESS) {
        hosting_fini(hosting);
    }
    return status;
}

bool hosting_serves_on(uint32_t jobs, long peak_kib)
{
    return jobs < HOSTING_JOBS_MAX && peak_kib <= HOSTING_KIB_MAX;
}

void hosting_fini(struct hosting *hosting)
{
    if (hosting->text) {
        crypto_wipe(hosting->text, hosting->size);
        free(hosting->text);
    }
    strings_free(hosting->env);
    *hosting = (struct hosting){0};
}
