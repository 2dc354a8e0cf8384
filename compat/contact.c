#include <config.h>

#include <base/settings/log.h>
#include <bootstrap/process.h>
#include <oob/contact.h>
#include <opal/util/argv.h>
#include <orte/mca/rml/base/rml_contact.h>
#include <stdlib.h>
#include <string.h>

static int pack_contact(opal_buffer_t *data, char *text)
{
    return opal_dss.pack(data, &text, 1, OPAL_STRING);
}

/* This process's own, if it is of the job. */
static int pack_own(opal_buffer_t *data, orte_jobid_t job, int *packed)
{
    const struct self *self = process_self();
    if (!self || (job != ORTE_JOBID_WILDCARD && job != self->name.jobid)) {
        return ORTE_SUCCESS;
    }
    char *own = orte_rml.get_contact_info();
    if (!own) {
        return ORTE_ERR_NOT_AVAILABLE;
    }
    int status = pack_contact(data, own);
    free(own);
    *packed += status == OPAL_SUCCESS;
    return status;
}

int orte_rml_base_get_contact_info(orte_jobid_t job, opal_buffer_t *data)
{
    struct rml *rml = process_rml();
    if (!rml) {
        return ORTE_ERR_COMM_DISABLED;
    }
    if (!data || job == ORTE_JOBID_INVALID) {
        return ORTE_ERR_BAD_PARAM;
    }
    char **contacts = rml_contacts(rml, job);
    if (!contacts) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int packed = 0;
    int status = pack_own(data, job, &packed);
    for (char **contact = contacts; status == ORTE_SUCCESS && *contact; contact++) {
        status = pack_contact(data, *contact);
        packed++;
    }
    opal_argv_free(contacts);
    return status == ORTE_SUCCESS && packed == 0 ? ORTE_ERR_NOT_FOUND : status;
}

int orte_rml_base_update_contact_info(opal_buffer_t *data)
{
    if (!data) {
        return ORTE_ERR_BAD_PARAM;
    }
    for (;;) {
        char *text = NULL;
        int32_t count = 1;
        int status = opal_dss.unpack(data, &text, &count, OPAL_STRING);
        if (status == OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER) {
            return ORTE_SUCCESS;
        }
        if (status == OPAL_SUCCESS) {
            status = orte_rml.set_contact_info(text);
            free(text);
        }
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
}

int orte_rml_base_parse_uris(const char *text, orte_process_name_t *name, char ***addresses)
{
    struct contact contact;
    char reason[256] = "";
    if (!text || contact_parse(&contact, text, reason, sizeof(reason)) != ORTE_SUCCESS) {
        log_debug(LOG_RML, "no contact string: %s", reason);
        return ORTE_ERR_BAD_PARAM;
    }
    if (addresses) {
        char **parts = opal_argv_split(strchr(text, ';') + 1, ';'); /* there is one: it parsed */
        if (!parts) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        *addresses = parts;
    }
    if (name) {
        *name = contact.name;
    }
    return ORTE_SUCCESS;
}
