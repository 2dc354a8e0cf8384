/* get_new_name in a process that has a name. */
#include <tests/conformance/rml/cells.h>

void has_a_name(const struct cell *cell)
{
    orte_process_name_t name = {1, 2};
    (void) cell;
    must(orte_rml.get_new_name(&name) == ORTE_ERR_NOT_SUPPORTED);
    must(name.jobid == 1 && name.vpid == 2);
}

void nowhere_for_a_name(const struct cell *cell)
{
    (void) cell;
    must(orte_rml.get_new_name(NULL) == ORTE_ERR_BAD_PARAM);
}

void no_name_after(const struct cell *cell)
{
    orte_process_name_t name;
    (void) cell;
    must(orte_rml.get_new_name(&name) == ORTE_ERR_COMM_DISABLED);
}
