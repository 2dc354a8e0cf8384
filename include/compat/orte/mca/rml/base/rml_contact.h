/* Contact strings of several processes at once. */
#ifndef KEEL_COMPAT_ORTE_RML_CONTACT_H
#define KEEL_COMPAT_ORTE_RML_CONTACT_H

#include <orte/mca/rml/rml_types.h>
#include <orte/types.h>

BEGIN_C_DECLS

/* Packs the contact strings of a job's processes that this one knows (its own, and what
 * set_contact_info recorded), each as an OPAL_STRING. ORTE_ERR_NOT_FOUND: none. */
int orte_rml_base_get_contact_info(orte_jobid_t job, opal_buffer_t *data)
    KEEL_PUBLIC(orte_rml_base_get_contact_info);
/* Gives the strings in such a buffer, which is read to its end, to set_contact_info, but this
 * process's own. The first error ends it. */
int orte_rml_base_update_contact_info(opal_buffer_t *data)
    KEEL_PUBLIC(orte_rml_base_update_contact_info);
/* Parts a contact string into name and addresses; addresses, which may be NULL, are ended by
 * opal_argv_free. ORTE_ERR_BAD_PARAM. */
int orte_rml_base_parse_uris(const char *contact, orte_process_name_t *name, char ***addresses)
    KEEL_PUBLIC(orte_rml_base_parse_uris);

END_C_DECLS
#endif
