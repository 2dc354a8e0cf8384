/* What succeeds besides sends and receives; cancelling. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/rml/call.h>
#include <tests/conformance/rml/cells.h>

void enabling_again(const struct cell *cell)
{
    (void) cell;
    must(orte_rml.enable_comm() == ORTE_SUCCESS);
    must(orte_rml.enable_comm() == ORTE_SUCCESS);
}

/* What was accepted arrives; callbacks run; posted receives end without one. */
void finalizing(const struct cell *cell)
{
    static struct cell send = {SEND_NB, NO_FLAG, SUCCESS}, receive = {RECV_NB, NO_FLAG, SUCCESS};
    static uint8_t data[100000];
    struct call sent = {.cell = &send}, posted = {.cell = &receive};
    orte_rml_tag_t tag = cell_tag(cell);
    must(call_receive(&posted, &receive, ORTE_NAME_WILDCARD, tag + 1, 10) == ORTE_SUCCESS);
    must(call_send(&sent, &send, &me, tag, data, sizeof(data)) == ORTE_SUCCESS);
    must(orte_rml.finalize() == ORTE_SUCCESS);
    must(sent.ended == 1 && sent.status == (int) sizeof(data));
    must(posted.ended == 0);
    call_fini(&sent);
    call_fini(&posted);
}

/* My name, and an address at least, of which one is local where the session has a folder. Only
 * printable characters, none of which a shell would take for its own inside quotes. */
void contact_is_told(const struct cell *cell)
{
    (void) cell;
    char *contact = orte_rml.get_contact_info(), *again = orte_rml.get_contact_info();
    char name[32];
    must(contact && again && strcmp(contact, again) == 0);
    snprintf(name, sizeof(name), "%" PRIu32 ".%" PRIu32 ";", me.jobid, me.vpid);
    must(strncmp(contact, name, strlen(name)) == 0);
    must(strstr(contact, "://") != NULL);
    must(!getenv("KEEL_SESSION_DIR") || strstr(contact, ";unix:///") != NULL);
    for (const char *at = contact; *at; at++) {
        must(*at > ' ' && *at < 0x7f && !strchr("'\"\\$`", *at));
    }
    free(contact);
    free(again);
}

/* Mine goes to the neighbour on the left, whose messages to me take that way from then on. */
void contact_is_recorded(const struct cell *cell)
{
    orte_rml_tag_t tag = cell_tag(cell);
    char *mine = orte_rml.get_contact_info();
    must(mine != NULL);
    must(orte_rml.set_contact_info(mine) == ORTE_SUCCESS); /* my own changes nothing */
    say(&left, tag, false, mine, strlen(mine));
    char contact[2000] = "";
    struct iovec space = {contact, sizeof(contact) - 1};
    must(orte_rml.recv(&right, &space, 1, tag, 0) > 0);
    must(orte_rml.set_contact_info(contact) == ORTE_SUCCESS);
    must(orte_rml.set_contact_info(contact) == ORTE_SUCCESS);
    for (int i = 0; i < 3; i++) {
        say(&right, tag, true, "abc" + i, 1);
        hear(&left, tag, true, "abc" + i, 1);
    }
    free(mine);
}

/* All receives that were posted with this peer and this tag, and no other: a wildcard cancels none
 * that name their peer, and a name none that were posted with a wildcard. */
void cancelling(const struct cell *cell)
{
    static struct cell buffers = {RECV_BUFFER_NB, NO_FLAG, SUCCESS};
    static struct cell bytes = {RECV_NB, PERSISTENT, SUCCESS};
    orte_rml_tag_t tag = cell_tag(cell);
    orte_process_name_t any = {me.jobid, ORTE_VPID_WILDCARD};
    struct call named = {.cell = &bytes}, again = {.cell = &buffers}, wild = {.cell = &buffers};
    struct call elsewhere = {.cell = &buffers};
    must(call_receive(&named, &bytes, &me, tag, 10) == ORTE_SUCCESS);
    must(call_receive(&again, &buffers, &me, tag, 10) == ORTE_SUCCESS);
    must(call_receive(&wild, &buffers, &any, tag, 10) == ORTE_SUCCESS);
    must(call_receive(&elsewhere, &buffers, &me, tag + 1, 10) == ORTE_SUCCESS);
    must(orte_rml.recv_cancel(ORTE_NAME_WILDCARD, tag) == ORTE_ERR_NOT_FOUND);
    must(orte_rml.recv_cancel(&me, tag) == ORTE_SUCCESS);
    must(orte_rml.recv_cancel(&me, tag) == ORTE_ERR_NOT_FOUND);
    say(&me, tag, true, "late", 4);
    call_wait(&wild);
    must(orte_rml.recv_cancel(&any, tag) == ORTE_ERR_NOT_FOUND);
    say(&me, tag + 1, true, "", 0);
    call_wait(&elsewhere);
    wait_idly();
    must(named.ended == 0 && again.ended == 0 && wild.ended == 1 && elsewhere.ended == 1);
    call_fini(&named);
    call_fini(&again);
    call_fini(&wild);
    call_fini(&elsewhere);
}

void nothing_to_cancel(const struct cell *cell)
{
    orte_process_name_t any_job = {ORTE_JOBID_WILDCARD, me.vpid};
    must(orte_rml.recv_cancel(&me, cell_tag(cell)) == ORTE_ERR_NOT_FOUND);
    must(orte_rml.recv_cancel(&any_job, cell_tag(cell)) == ORTE_ERR_NOT_FOUND);
    must(orte_rml.recv_cancel(ORTE_NAME_WILDCARD, cell_tag(cell)) == ORTE_ERR_NOT_FOUND);
}
