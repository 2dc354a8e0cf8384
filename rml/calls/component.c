/* The component of the seed's framework "rml": how a program that chooses among components finds
 * the one there is. */
#include <config.h>

#include <rml/calls/calls.h>

enum { PRIORITY = 100 };

/* The module is there as long as keel_init has made an RML that was not finalized. */
static orte_rml_module_t *init(int *priority)
{
    if (!priority || !rml_is_installed()) {
        return NULL;
    }
    *priority = PRIORITY;
    return &orte_rml;
}

orte_rml_component_t mca_rml_keel_component = {
    .rml_version = {ORTE_RML_BASE_VERSION_2_0_0, .mca_component_name = "keel",
                    .mca_component_major_version = OPAL_MAJOR_VERSION,
                    .mca_component_minor_version = OPAL_MINOR_VERSION,
                    .mca_component_release_version = OPAL_RELEASE_VERSION},
    .rml_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .rml_init = init,
};
