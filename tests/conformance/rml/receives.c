/* Receives that succeed: every function, every flag, waiting messages and waiting receives. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/rml/call.h>
#include <tests/conformance/rml/cells.h>

enum { SIZE = 10, GO = 1003 };

static const uint8_t text[SIZE + 1] = "0123456789";

/* What a receive with so much space gets of the text, and returns. */
static size_t length_of(const struct cell *cell, size_t space)
{
    bool cuts =
        !is_of_buffers(cell->fn) && !(flag_values[cell->flag] & ORTE_RML_ALLOC) && space < SIZE;
    return cuts ? space : SIZE;
}

static int result_of(const struct cell *cell, size_t space)
{
    bool whole = is_of_buffers(cell->fn) || (flag_values[cell->flag] & ORTE_RML_TRUNC);
    if (cell->fn == RECV_BUFFER_NB) {
        return ORTE_SUCCESS;
    }
    return whole ? SIZE : (int) length_of(cell, space);
}

static void check_received(const struct call *call, size_t space)
{
    const struct cell *cell = call->cell;
    must(call->status == result_of(cell, space));
    must(call->size == length_of(cell, space));
    must(call->size == 0 || memcmp(call->data, text, call->size) == 0);
    if (is_nonblocking(cell->fn)) {
        must(call->peer.jobid == left.jobid && call->peer.vpid == left.vpid);
    }
}

/* After a receive: PERSISTENT ones are there still, and PEEK has left the message. */
static void after(struct call *call, const orte_process_name_t *from)
{
    const struct cell *cell = call->cell;
    int flags = flag_values[cell->flag];
    orte_process_name_t *peer = (orte_process_name_t *) from;
    if (is_nonblocking(cell->fn)) {
        int status = orte_rml.recv_cancel(peer, call->tag);
        must(status == (flags & ORTE_RML_PERSISTENT ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND));
    }
    if (flags & ORTE_RML_PEEK) {
        struct call again = {.cell = cell};
        must(call_receive(&again, cell, from, call->tag, SIZE) >=
             0); /* it can be peeked at again */
        call_wait(&again);
        must(again.size == SIZE && memcmp(again.data, text, SIZE) == 0);
        call_fini(&again);
        hear(&left, call->tag, is_of_buffers(cell->fn), text, SIZE);
    }
    must(call->ended == 1);
    call_fini(call);
}

/* The message is there before the receive. */
static void late_receive(const struct cell *cell, const orte_process_name_t *from, size_t space)
{
    orte_rml_tag_t tag = cell_tag(cell);
    struct call call = {.cell = cell};
    settle();
    say(&right, tag, is_of_buffers(cell->fn), text, SIZE);
    settle();
    must(call_receive(&call, cell, from, tag, space) >= 0);
    call_wait(&call);
    check_received(&call, space);
    after(&call, from);
}

/* The receive is there before the message: the sender is told, and sends then. */
static void early_receive(const struct cell *cell, const orte_process_name_t *from, size_t space)
{
    orte_rml_tag_t tag = cell_tag(cell);
    struct call call = {.cell = cell};
    settle();
    if (is_nonblocking(cell->fn)) {
        must(call_receive(&call, cell, from, tag, space) == ORTE_SUCCESS);
        wait_idly();
        must(call.ended == 0);
    }
    say(&left, GO, false, "", 0);
    hear(&right, GO, false, "", 0);
    say(&right, tag, is_of_buffers(cell->fn), text, SIZE);
    if (!is_nonblocking(cell->fn)) {
        must(call_receive(&call, cell, from, tag, space) >= 0);
    }
    call_wait(&call);
    check_received(&call, space);
    after(&call, from);
}

/* A message without bytes is one. */
static void empty_message(const struct cell *cell)
{
    orte_rml_tag_t tag = cell_tag(cell);
    struct call call = {.cell = cell};
    settle();
    say(&right, tag, is_of_buffers(cell->fn), "", 0);
    must(call_receive(&call, cell, &left, tag, SIZE) >= 0);
    call_wait(&call);
    must(call.status == 0 && call.size == 0 && call.ended == 1);
    if (is_nonblocking(cell->fn) && (flag_values[cell->flag] & ORTE_RML_PERSISTENT)) {
        must(orte_rml.recv_cancel(&left, tag) == ORTE_SUCCESS);
    }
    if (flag_values[cell->flag] & ORTE_RML_PEEK) {
        hear(&left, tag, is_of_buffers(cell->fn), "", 0);
    }
    call_fini(&call);
}

/* No space, and no array: the message is taken, and its bytes are dropped. */
static void no_space_at_all(const struct cell *cell)
{
    orte_rml_tag_t tag = cell_tag(cell);
    int flags = flag_values[cell->flag];
    struct call call = {.cell = cell};
    settle();
    say(&right, tag, false, text, SIZE);
    must(call_list(&call, cell, &left, tag, NULL, 0) >= 0);
    call_wait(&call);
    must(call.status == (flags & ORTE_RML_TRUNC ? SIZE : 0) && call.ended == 1);
    if (is_nonblocking(cell->fn) && (flags & ORTE_RML_PERSISTENT)) {
        must(orte_rml.recv_cancel(&left, tag) == ORTE_SUCCESS);
    }
    if (flags & ORTE_RML_PEEK) {
        hear(&left, tag, false, text, SIZE);
    }
    call_fini(&call);
}

/* Three messages: a plain receive takes the first, a persistent one all, those that wait already
 * first; a peek none. */
static void several_messages(const struct cell *cell)
{
    orte_rml_tag_t tag = cell_tag(cell);
    bool persistent = is_nonblocking(cell->fn) && (flag_values[cell->flag] & ORTE_RML_PERSISTENT);
    bool peek = flag_values[cell->flag] & ORTE_RML_PEEK;
    bool as_buffer = is_of_buffers(cell->fn);
    struct call call = {.cell = cell};
    settle();
    say(&right, tag, as_buffer, "a", 1);
    say(&right, tag, as_buffer, "b", 1);
    settle();
    must(call_receive(&call, cell, &left, tag, SIZE) >= 0);
    call.wanted = persistent ? 3 : 1;
    call.done = call.ended >= call.wanted;
    say(&right, tag, as_buffer, "c", 1);
    call_wait(&call);
    wait_idly();
    must(call.ended == call.wanted);
    must(call.size == 1 && call.data[0] == (persistent ? 'c' : 'a'));
    settle();
    if (persistent) {
        must(orte_rml.recv_cancel(&left, tag) == ORTE_SUCCESS);
        settle(); /* nobody's takes it */
        say(&right, tag, as_buffer, "d", 1);
        hear(&left, tag, as_buffer, "d", 1);
        must(call.ended == 3);
    } else {
        if (peek) {
            hear(&left, tag, as_buffer, "a", 1);
        }
        hear(&left, tag, as_buffer, "b", 1);
        hear(&left, tag, as_buffer, "c", 1);
    }
    call_fini(&call);
}

void receive_succeeds(const struct cell *cell)
{
    static const size_t spaces[] = {SIZE, SIZE + 6, 7, 0};
    const orte_process_name_t peers[] = {
        left,
        {left.jobid, ORTE_VPID_WILDCARD},
        {ORTE_JOBID_WILDCARD, left.vpid},
        {ORTE_JOBID_WILDCARD, ORTE_VPID_WILDCARD},
    };
    for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
        late_receive(cell, &peers[i], spaces[i]);
        early_receive(cell, &peers[i], spaces[i]);
    }
    empty_message(cell);
    if (!is_of_buffers(cell->fn) && !(flag_values[cell->flag] & ORTE_RML_ALLOC)) {
        no_space_at_all(cell);
    }
    several_messages(cell);
    if (is_nonblocking(cell->fn)) {
        inside_a_callback(cell);
    }
}
