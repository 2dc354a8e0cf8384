/* ft_event. All ranks go through it together. */
#include <tests/conformance/rml/call.h>
#include <tests/conformance/rml/cells.h>

/* What is sent after a checkpoint stays until the job goes on. */
static void hold_and_go_on(orte_rml_tag_t tag, int go_on)
{
    static struct cell receive = {RECV_BUFFER_NB, NO_FLAG, SUCCESS};
    struct call early = {.cell = &receive};
    say(&right, tag, true, "before", 6);
    must(orte_rml.ft_event(OPAL_CRS_CHECKPOINT) == ORTE_SUCCESS);
    say(&right, tag, true, "after", 5);
    hear(&left, tag, true, "before", 6);
    all_together();
    if (ranks > 1) { /* what goes to oneself goes nowhere */
        must(call_receive(&early, &receive, &left, tag, 10) == ORTE_SUCCESS);
        wait_idly();
        must(early.ended == 0);
        must(orte_rml.recv_cancel(&left, tag) == ORTE_SUCCESS);
        call_fini(&early);
    }
    all_together();
    must(orte_rml.ft_event(go_on) == ORTE_SUCCESS);
    hear(&left, tag, true, "after", 5);
    all_together();
}

/* Until my neighbours know me, and I them, as who we are now. */
static void meet(orte_rml_tag_t tag)
{
    char byte = 'x';
    struct iovec part = {&byte, 1};
    int status;
    do {
        status = orte_rml.send(&right, &part, 1, (int) tag, KEEL_RML_DELIVERED);
    } while (status == ORTE_ERR_COMM_FAILURE);
    must(status == 1);
    must(orte_rml.recv(&left, &part, 1, tag, 0) == 1);
    all_together();
}

/* What has come stays; what comes later goes between the new incarnations. */
static void begin_anew(orte_rml_tag_t tag)
{
    say(&right, tag, false, "kept", 4);
    must(orte_rml.ft_event(OPAL_CRS_CHECKPOINT) == ORTE_SUCCESS);
    all_together();
    must(orte_rml.ft_event(OPAL_CRS_RESTART) == ORTE_SUCCESS);
    all_together();
    hear(&left, tag, false, "kept", 4);
    meet(tag + 1);
    say(&right, tag, true, "new", 3);
    hear(&left, tag, true, "new", 3);
}

void checkpoints_and_restarts(const struct cell *cell)
{
    static const int others[] = {OPAL_CRS_NONE, OPAL_CRS_RESTART_PRE, OPAL_CRS_TERM};
    orte_rml_tag_t tag = cell_tag(cell);
    for (int i = 0; i < 3; i++) {
        must(orte_rml.ft_event(others[i]) == ORTE_SUCCESS);
    }
    hold_and_go_on(tag, OPAL_CRS_CONTINUE);
    hold_and_go_on(tag, OPAL_CRS_RUNNING);
    hold_and_go_on(tag, OPAL_CRS_ERROR);
    begin_anew(tag);
    begin_anew(tag);
}

void no_such_state(const struct cell *cell)
{
    (void) cell;
    must(orte_rml.ft_event(OPAL_CRS_NONE - 1) == ORTE_ERR_BAD_PARAM);
    must(orte_rml.ft_event(OPAL_CRS_ERROR + 1) == ORTE_ERR_BAD_PARAM);
}

void no_state_now(const struct cell *cell)
{
    (void) cell;
    must(orte_rml.ft_event(OPAL_CRS_CHECKPOINT) == ORTE_ERR_COMM_DISABLED);
    must(orte_rml.ft_event(OPAL_CRS_RESTART) == ORTE_ERR_COMM_DISABLED);
}
