/* Calls without memory: each allocation of a call fails in its turn. The call says so and has had
 * no effect, or did without. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/rml/call.h>
#include <tests/conformance/rml/cells.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* --- an allocator that fails when it is told to --- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

/* They take the place of the C library's in all libraries of the process. */
#pragma GCC visibility push(default)
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
#pragma GCC visibility pop

/* Of this thread: how many more allocations succeed before one fails; -1: all do. */
static _Thread_local long countdown = -1;
static _Thread_local bool failed;

static bool fails(void)
{
    if (countdown < 0 || countdown-- > 0) {
        return false;
    }
    failed = true;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

/* --- the calls --- */

static int ended, ended_status;
static void *allocated; /* by ALLOC */

static void iov_ended(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                      orte_rml_tag_t tag, void *cbdata)
{
    const struct cell *cell = cbdata;
    (void) peer;
    (void) tag;
    bool allocates = is_receive(cell->fn) && flag_values[cell->flag] & ORTE_RML_ALLOC;
    if (allocates && status >= 0 && count > 0) {
        allocated = msg[0].iov_base;
    }
    ended++;
    ended_status = status;
}

static void buffer_ended(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                         orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) buffer;
    (void) tag;
    (void) cbdata;
    ended++;
    ended_status = status;
}

static void unwanted(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    (void) peer;
    (void) exception;
    must(false);
}

/* A call of those that neither send nor receive. */
static int other_call(enum fn fn)
{
    if (fn == SET_CONTACT_INFO) {
        return orte_rml.set_contact_info("98304.9;tcp://127.0.0.1:1");
    }
    if (fn == PING) {
        int status = orte_rml.ping("98304.9;unix:///nobody", NULL);
        return status == ORTE_ERR_UNREACH ? ORTE_SUCCESS : status;
    }
    if (fn == ADD_EXCEPTION_HANDLER) {
        int status = orte_rml.add_exception_handler(unwanted);
        int found = status == ORTE_SUCCESS ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND;
        must(orte_rml.del_exception_handler(unwanted) == found);
        return status;
    }
    char *contact = orte_rml.get_contact_info();
    free(contact);
    return contact ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int call_once(const struct cell *cell, struct arguments arguments, long succeeding)
{
    bool has_peer = is_send(cell->fn) || is_receive(cell->fn);
    failed = false;
    countdown = succeeding;
    int result = has_peer ? call_raw(cell->fn, arguments) : other_call(cell->fn);
    countdown = -1;
    must(!failed || result >= 0 || result == ORTE_ERR_OUT_OF_RESOURCE);
    must(failed || result >= 0);
    return result;
}

static bool has_ended;

/* A call that was accepted ends by its callback, well or without memory too. */
static int await_end(void)
{
    for (has_ended = ended > 0; !has_ended; has_ended = ended > 0) {
        wait_idly();
    }
    must(ended_status >= 0 || (failed && ended_status == ORTE_ERR_OUT_OF_RESOURCE));
    return ended_status;
}

/* What was accepted has its effect, and what was refused none. */
static void check_effect(const struct cell *cell, int result)
{
    orte_rml_tag_t tag = cell_tag(cell);
    bool as_buffer = is_of_buffers(cell->fn);
    bool accepted = result >= 0;
    if (accepted && is_nonblocking(cell->fn)) {
        result = await_end();
    }
    if (is_nonblocking(cell->fn) && is_receive(cell->fn)) {
        bool stays = result >= 0 && flag_values[cell->flag] & ORTE_RML_PERSISTENT;
        must(orte_rml.recv_cancel(&me, tag) == (stays ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND));
    }
    bool is_there =
        is_send(cell->fn) ? result >= 0 : result < 0 || flag_values[cell->flag] & ORTE_RML_PEEK;
    if (is_there) {
        hear(&me, tag, as_buffer, "x", 1);
    }
    wait_idly();
    must(accepted || ended == 0);
}

/* Whether one of its allocations failed. */
static bool try_with(const struct cell *cell, long succeeding)
{
    uint8_t byte = 'x', space = 0;
    bool sends = is_send(cell->fn);
    struct iovec part = {sends ? &byte : &space, 1};
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    if (sends) {
        must(opal_dss.load(buffer, memcpy(malloc(1), "x", 1), 1) == OPAL_SUCCESS);
    } else if (is_receive(cell->fn)) {
        say(&me, cell_tag(cell), is_of_buffers(cell->fn), "x", 1);
    }
    struct arguments arguments = {.peer = &me,
                                  .msg = &part,
                                  .count = 1,
                                  .buffer = buffer,
                                  .tag = cell_tag(cell),
                                  .flags = flag_values[cell->flag],
                                  .iov_fn = iov_ended,
                                  .buffer_fn = buffer_ended,
                                  .cbdata = (void *) cell};
    ended = 0;
    allocated = NULL;
    int result = call_once(cell, arguments, succeeding);
    bool one_failed = failed;
    if (is_send(cell->fn) || is_receive(cell->fn)) {
        check_effect(cell, result);
    }
    if (cell->fn == RECV && result >= 0 && flag_values[cell->flag] & ORTE_RML_ALLOC) {
        allocated = part.iov_base;
    }
    free(allocated);
    OBJ_RELEASE(buffer);
    return one_failed;
}

void without_memory(const struct cell *cell)
{
    long succeeding = 0;
    while (try_with(cell, succeeding)) {
        must(++succeeding < 100);
    }
    must(succeeding > 0 || cell->fn == SET_CONTACT_INFO);
}

void restart_without_memory(const struct cell *cell)
{
    (void) cell;
    countdown = 0;
    int status = orte_rml.ft_event(OPAL_CRS_RESTART);
    countdown = -1;
    must(status == ORTE_ERR_OUT_OF_RESOURCE);
}

#else

void restart_without_memory(const struct cell *cell)
{
    (void) cell;
}

void without_memory(const struct cell *cell)
{
    (void) cell; /* the allocator is the sanitizer's here */
}

#endif
