#include <stdlib.h>
#include <string.h>
#include <tests/conformance/rml/call.h>

enum { FIRST_TAG = 2000, SETTLE_TAG = 1000 };

const struct cell *current;

orte_rml_tag_t cell_tag(const struct cell *cell)
{
    return FIRST_TAG + (orte_rml_tag_t) (((int) cell->fn * FLAGS + (int) cell->flag) * OUTCOMES +
                                         (int) cell->outcome);
}

int call_raw(enum fn fn, struct arguments a)
{
    switch (fn) {
    case SEND:
        return orte_rml.send(a.peer, a.msg, a.count, (int) a.tag, a.flags);
    case SEND_NB:
        return orte_rml.send_nb(a.peer, a.msg, a.count, a.tag, a.flags, a.iov_fn, a.cbdata);
    case SEND_BUFFER:
        return orte_rml.send_buffer(a.peer, a.buffer, a.tag, a.flags);
    case SEND_BUFFER_NB:
        return orte_rml.send_buffer_nb(a.peer, a.buffer, a.tag, a.flags, a.buffer_fn, a.cbdata);
    case RECV:
        return orte_rml.recv(a.peer, a.msg, a.count, a.tag, a.flags);
    case RECV_NB:
        return orte_rml.recv_nb(a.peer, a.msg, a.count, a.tag, a.flags, a.iov_fn, a.cbdata);
    case RECV_BUFFER:
        return orte_rml.recv_buffer(a.peer, a.buffer, a.tag, a.flags);
    case RECV_BUFFER_NB:
        return orte_rml.recv_buffer_nb(a.peer, a.tag, a.flags, a.buffer_fn, a.cbdata);
    case RECV_CANCEL:
        return orte_rml.recv_cancel(a.peer, a.tag);
    default:
        must(!"a function with a peer");
        return ORTE_ERROR;
    }
}

/* --- callbacks --- */

static void ended(struct call *call, int status, const orte_process_name_t *peer,
                  orte_rml_tag_t tag)
{
    must(tag == call->tag);
    call->status = status;
    call->peer = *peer;
    call->ended++;
    call->done = call->ended >= call->wanted;
}

/* Keeps what lies in the parts, of which only the first length bytes were written. */
static void keep(struct call *call, const struct iovec *parts, int count, size_t length)
{
    free(call->data);
    call->data = malloc(length + 1);
    must(call->data != NULL);
    call->size = 0;
    for (int i = 0; i < count && call->size < length; i++) {
        size_t rest = length - call->size;
        size_t part = parts[i].iov_len < rest ? parts[i].iov_len : rest;
        memcpy(call->data + call->size, parts[i].iov_base, part);
        call->size += part;
    }
}

static void keep_received(struct call *call, const struct iovec *parts, int count)
{
    int flags = flag_values[call->cell->flag];
    if (call->status < 0) {
        return;
    }
    if (flags & ORTE_RML_ALLOC) {
        free(call->data);
        call->data = parts[0].iov_base;
        call->size = parts[0].iov_len;
        return;
    }
    size_t space = 0;
    for (int i = 0; i < count; i++) {
        space += parts[i].iov_len;
    }
    keep(call, parts, count, space < (size_t) call->status ? space : (size_t) call->status);
}

static void iov_ended(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                      orte_rml_tag_t tag, void *cbdata)
{
    struct call *call = cbdata;
    must(count == call->count && (msg != NULL || count == 0));
    ended(call, status, peer, tag);
    if (is_receive(call->cell->fn)) {
        keep_received(call, msg, count);
    }
    if (call->then) {
        call->then(call);
    }
}

static void buffer_ended(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                         orte_rml_tag_t tag, void *cbdata)
{
    struct call *call = cbdata;
    ended(call, status, peer, tag);
    call->nothing = buffer == NULL;
    if (is_receive(call->cell->fn) && status >= 0) {
        struct iovec whole = {buffer->base_ptr, buffer->bytes_used};
        keep(call, &whole, 1, buffer->bytes_used);
    } else if (is_send(call->cell->fn)) {
        must(buffer == call->buffer);
    }
    if (call->then) {
        call->then(call);
    }
}

/* --- calls --- */

static void begin(struct call *call, const struct cell *cell, orte_rml_tag_t tag)
{
    void (*then)(struct call *) = call->then;
    *call = (struct call){.cell = cell, .tag = tag, .wanted = 1, .then = then};
}

static opal_buffer_t *buffer_of(const void *data, size_t size)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    void *copy = malloc(size + 1);
    must(buffer && copy);
    if (size > 0) {
        memcpy(copy, data, size);
        must(opal_dss.load(buffer, copy, (int32_t) size) == OPAL_SUCCESS);
    } else {
        free(copy);
    }
    return buffer;
}

static int settled(struct call *call, int result)
{
    if (!is_nonblocking(call->cell->fn)) {
        call->status = result;
        call->ended = 1;
        call->done = true;
    } else {
        must(call->ended == 0); /* never inside the call */
        must(result <= 0);
    }
    return result;
}

static struct arguments arguments_of(struct call *call, orte_process_name_t *peer, int flags)
{
    return (struct arguments){.peer = peer,
                              .msg = call->parts,
                              .count = call->count,
                              .buffer = call->buffer,
                              .tag = call->tag,
                              .flags = flags,
                              .iov_fn = iov_ended,
                              .buffer_fn = buffer_ended,
                              .cbdata = call};
}

int call_send(struct call *call, const struct cell *cell, const orte_process_name_t *peer,
              orte_rml_tag_t tag, const void *data, size_t size)
{
    orte_process_name_t *to = (orte_process_name_t *) peer; /* the seed has no const */
    int flags = flag_values[cell->flag];
    begin(call, cell, tag);
    if (is_of_buffers(cell->fn)) {
        call->buffer = buffer_of(data, size);
    } else {
        call->data = malloc(size + 1);
        must(call->data != NULL);
        memcpy(call->data, data, size);
        /* in pieces, an empty one among them */
        call->parts[0] = (struct iovec){call->data, size / 3};
        call->parts[2] = (struct iovec){call->data + size / 3, size - size / 3};
        call->count = 3;
    }
    return settled(call, call_raw(cell->fn, arguments_of(call, to, flags)));
}

/* Space in two parts; none of its own for ALLOC. */
static void make_space(struct call *call, size_t space)
{
    uint8_t *memory = calloc(1, space + 1);
    must(memory != NULL);
    call->parts[0] = (struct iovec){memory, space - space / 2};
    call->parts[1] = (struct iovec){memory + space - space / 2, space / 2};
    call->count = 2;
}

int call_receive(struct call *call, const struct cell *cell, const orte_process_name_t *peer,
                 orte_rml_tag_t tag, size_t space)
{
    orte_process_name_t *from = (orte_process_name_t *) peer;
    int flags = flag_values[cell->flag];
    begin(call, cell, tag);
    if (cell->fn == RECV || cell->fn == RECV_NB) {
        make_space(call, space);
    }
    if (cell->fn == RECV_BUFFER) {
        call->buffer = OBJ_NEW(opal_buffer_t);
    }
    struct iovec given[2] = {call->parts[0], call->parts[1]}; /* the RML may write into it */
    struct arguments arguments = arguments_of(call, from, flags);
    arguments.msg = given;
    int result = settled(call, call_raw(cell->fn, arguments));
    if (cell->fn == RECV) {
        keep_received(call, given, call->count);
    } else if (cell->fn == RECV_BUFFER && result >= 0) {
        struct iovec whole = {call->buffer->base_ptr, call->buffer->bytes_used};
        keep(call, &whole, 1, call->buffer->bytes_used);
    }
    return result;
}

int call_list(struct call *call, const struct cell *cell, const orte_process_name_t *peer,
              orte_rml_tag_t tag, struct iovec *msg, int count)
{
    begin(call, cell, tag);
    call->count = count;
    struct arguments arguments =
        arguments_of(call, (orte_process_name_t *) peer, flag_values[cell->flag]);
    arguments.msg = msg;
    return settled(call, call_raw(cell->fn, arguments));
}

void call_wait(struct call *call)
{
    wait_until(&call->done);
}

void call_reset(struct call *call)
{
    free(call->data);
    call->data = NULL;
    call->size = 0;
}

void call_fini(struct call *call)
{
    if (!is_send(call->cell->fn)) {
        free(call->parts[0].iov_base); /* the space */
    }
    call_reset(call);
    if (call->buffer) {
        OBJ_RELEASE(call->buffer);
    }
    *call = (struct call){.cell = call->cell};
}

/* --- plain messages --- */

void say(const orte_process_name_t *peer, orte_rml_tag_t tag, bool as_buffer, const void *data,
         size_t size)
{
    struct cell plain = {as_buffer ? SEND_BUFFER : SEND, NO_FLAG, SUCCESS};
    struct call call = {.cell = &plain};
    must(call_send(&call, &plain, peer, tag, data, size) == (int) size);
    call_fini(&call);
}

void hear(const orte_process_name_t *peer, orte_rml_tag_t tag, bool as_buffer, const void *data,
          size_t size)
{
    struct cell plain = {as_buffer ? RECV_BUFFER : RECV, NO_FLAG, SUCCESS};
    struct call call = {.cell = &plain};
    must(call_receive(&call, &plain, peer, tag, size + 1) == (int) size);
    must(call.size == size && (size == 0 || memcmp(call.data, data, size) == 0));
    call_fini(&call);
}

/* Messages of a pair keep their order, whatever their tags. */
void settle(void)
{
    say(&right, SETTLE_TAG, false, "", 0);
    hear(&left, SETTLE_TAG, false, "", 0);
    say(&left, SETTLE_TAG, false, "", 0);
    hear(&right, SETTLE_TAG, false, "", 0);
}
