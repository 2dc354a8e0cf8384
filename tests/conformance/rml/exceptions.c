/* The handlers of exceptions. */
#include <stdio.h>
#include <tests/conformance/rml/call.h>
#include <tests/conformance/rml/cells.h>

static orte_process_name_t lost;
static int told[2];
static bool both_told;

static void note(int which, const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    must(peer->jobid == lost.jobid && peer->vpid == lost.vpid);
    must(exception == ORTE_RML_PEER_UNREACH);
    told[which]++;
}

static void first(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    must(told[0] == told[1]);
    note(0, peer, exception);
}

static void second(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    note(1, peer, exception);
    both_told = true;
}

/* A message to one who cannot be reached. */
static void lose(const struct cell *cell)
{
    char contact[64];
    lost = (orte_process_name_t){me.jobid + (10u << 16), cell_tag(cell)};
    snprintf(contact, sizeof(contact), "%u.%u;tcp://127.0.0.1:1", lost.jobid, lost.vpid);
    must(orte_rml.set_contact_info(contact) == ORTE_SUCCESS);
    struct iovec part = {contact, 1};
    must(orte_rml.send(&lost, &part, 1, cell_tag(cell), KEEL_RML_DELIVERED) == ORTE_ERR_UNREACH);
    both_told = false;
    wait_until(&both_told);
    wait_idly();
}

void handlers_are_called(const struct cell *cell)
{
    told[0] = told[1] = 0;
    must(orte_rml.add_exception_handler(first) == ORTE_SUCCESS);
    must(orte_rml.add_exception_handler(second) == ORTE_SUCCESS);
    lose(cell);
    must(told[0] == 1 && told[1] == 1); /* in this order */
    must(orte_rml.del_exception_handler(second) == ORTE_SUCCESS);
    must(orte_rml.del_exception_handler(first) == ORTE_SUCCESS);
}

/* Registered twice is called twice; one that is removed is not called any more. */
void handlers_are_removed(const struct cell *cell)
{
    told[0] = told[1] = 0;
    must(orte_rml.add_exception_handler(first) == ORTE_SUCCESS);
    must(orte_rml.add_exception_handler(second) == ORTE_SUCCESS);
    must(orte_rml.add_exception_handler(second) == ORTE_SUCCESS);
    must(orte_rml.del_exception_handler(first) == ORTE_SUCCESS);
    lose(cell);
    must(told[0] == 0 && told[1] == 2);
    must(orte_rml.del_exception_handler(second) == ORTE_SUCCESS);
    must(orte_rml.del_exception_handler(second) == ORTE_SUCCESS);
    must(orte_rml.del_exception_handler(second) == ORTE_ERR_NOT_FOUND);
}

static int call_handler(enum fn fn, orte_rml_exception_callback_t handler)
{
    return fn == ADD_EXCEPTION_HANDLER ? orte_rml.add_exception_handler(handler)
                                       : orte_rml.del_exception_handler(handler);
}

void no_handler(const struct cell *cell)
{
    must(call_handler(cell->fn, NULL) == ORTE_ERR_BAD_PARAM);
}

void no_such_handler(const struct cell *cell)
{
    must(call_handler(cell->fn, first) == ORTE_ERR_NOT_FOUND);
}

void handlers_before(const struct cell *cell)
{
    (void) cell;
    must(orte_rml.add_exception_handler(first) == ORTE_SUCCESS);
    must(orte_rml.del_exception_handler(first) == ORTE_SUCCESS);
}

void handlers_after(const struct cell *cell)
{
    must(call_handler(cell->fn, first) == ORTE_ERR_COMM_DISABLED);
}
