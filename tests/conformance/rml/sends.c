/* Sends that succeed: every function, every flag. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/rml/call.h>
#include <tests/conformance/rml/cells.h>

enum { LARGEST = 600000, GO = 1001 };

/* One message: its bytes, its end, its sender's view of it. */
static void one_message(const struct cell *cell, const orte_process_name_t *to,
                        const orte_process_name_t *from, size_t size)
{
    static uint8_t sent[LARGEST], expected[LARGEST];
    orte_rml_tag_t tag = cell_tag(cell);
    struct call call = {.cell = cell};
    pattern_fill(sent, size, me.vpid + (unsigned) size);
    pattern_fill(expected, size, from->vpid + (unsigned) size);
    int result = call_send(&call, cell, to, tag, sent, size);
    must(result == (is_nonblocking(cell->fn) ? 0 : (int) size));
    hear(from, tag, is_of_buffers(cell->fn), expected, size);
    call_wait(&call);
    must(call.ended == 1);
    must(call.status == (cell->fn == SEND_BUFFER_NB ? 0 : (int) size));
    if (is_nonblocking(cell->fn)) {
        must(call.peer.jobid == to->jobid && call.peer.vpid == to->vpid);
    }
    if (call.buffer) { /* kept as it was */
        must(call.buffer->bytes_used == size);
        must(size == 0 || memcmp(call.buffer->base_ptr, sent, size) == 0);
        must(call.buffer->super.obj_reference_count == 1);
    }
    call_fini(&call);
}

/* One buffer, and one scatter list, in several sends at once. */
static void one_to_many(const struct cell *cell)
{
    orte_rml_tag_t tag = cell_tag(cell);
    struct call calls[4];
    for (int i = 0; i < 4; i++) {
        calls[i] = (struct call){.cell = cell};
        must(call_send(&calls[i], cell, &right, tag, "abcd" + i, 1) >= 0);
    }
    for (int i = 0; i < 4; i++) { /* in their order */
        hear(&left, tag, is_of_buffers(cell->fn), "abcd" + i, 1);
    }
    for (int i = 0; i < 4; i++) {
        call_wait(&calls[i]);
        must(calls[i].ended == 1);
        call_fini(&calls[i]);
    }
}

/* A message without bytes, and without an array. */
static void nothing_at_all(const struct cell *cell)
{
    struct call call = {.cell = cell};
    must(call_list(&call, cell, &right, cell_tag(cell), NULL, 0) == 0);
    hear(&left, cell_tag(cell), false, "", 0);
    call_wait(&call);
    must(call.ended == 1 && call.status == 0);
    call_fini(&call);
}

/* DELIVERED ends when the message is there: nobody has posted a receive for it, and none is. */
static void ends_without_a_receive(const struct cell *cell)
{
    struct call call = {.cell = cell};
    must(call_send(&call, cell, &right, cell_tag(cell), "x", 1) >= 0);
    call_wait(&call);
    hear(&left, cell_tag(cell), is_of_buffers(cell->fn), "x", 1);
    call_fini(&call);
}

/* --- a callback that blocks --- */

static struct call inner;
static bool outer_done;

static void let_go(struct call *call)
{
    (void) call;
    say(&me, GO, false, "", 0);
}

/* While this blocks, the inner callback runs if it is recursive, and else waits. */
static void outer(int status, orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                  void *cbdata)
{
    const struct cell *cell = cbdata;
    (void) peer;
    (void) buffer;
    (void) tag;
    must(status == ORTE_SUCCESS);
    bool recursive = flag_values[cell->flag] & ORTE_RML_FLAG_RECURSIVE_CALLBACK;
    inner.then = recursive ? let_go : NULL;
    if (is_send(cell->fn)) {
        must(call_send(&inner, cell, &me, cell_tag(cell), "inner", 5) == 0);
    } else {
        must(call_receive(&inner, cell, &me, cell_tag(cell), 10) == 0);
        say(&me, cell_tag(cell), is_of_buffers(cell->fn), "inner", 5);
    }
    if (recursive) {
        hear(&me, GO, false, "", 0); /* comes from the inner callback */
        must(inner.done);
    } else {
        for (int i = 0; i < 3; i++) {
            say(&me, GO, false, "", 0);
            hear(&me, GO, false, "", 0);
        }
        must(inner.ended == 0);
    }
    outer_done = true;
}

void inside_a_callback(const struct cell *cell)
{
    orte_rml_tag_t trigger = GO + 1;
    inner = (struct call){.cell = cell};
    outer_done = false;
    must(orte_rml.recv_buffer_nb(&me, trigger, 0, outer, (void *) cell) == ORTE_SUCCESS);
    say(&me, trigger, true, "", 0);
    wait_until(&outer_done);
    call_wait(&inner);
    must(inner.ended == 1);
    if (is_send(cell->fn)) {
        hear(&me, cell_tag(cell), is_of_buffers(cell->fn), "inner", 5);
    } else if (flag_values[cell->flag] & ORTE_RML_PERSISTENT) {
        must(orte_rml.recv_cancel(&me, cell_tag(cell)) == ORTE_SUCCESS);
    } else if (flag_values[cell->flag] & ORTE_RML_PEEK) {
        hear(&me, cell_tag(cell), is_of_buffers(cell->fn), "inner", 5);
    }
    call_fini(&inner);
}

void send_succeeds(const struct cell *cell)
{
    static const size_t sizes[] = {0, 1, 4096, 65536, 65537, LARGEST};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        one_message(cell, &me, &me, sizes[i]);
        one_message(cell, &right, &left, sizes[i]);
    }
    one_to_many(cell);
    if (!is_of_buffers(cell->fn)) {
        nothing_at_all(cell);
    }
    if (flag_values[cell->flag] & KEEL_RML_DELIVERED) {
        ends_without_a_receive(cell);
    }
    if (is_nonblocking(cell->fn)) {
        inside_a_callback(cell);
    }
}
