/* Calls that fail: wrong arguments, nobody there, too early, too late. What is refused has no
 * effect: no callback, nothing posted, nothing sent. */
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <tests/conformance/rml/call.h>
#include <tests/conformance/rml/cells.h>
#include <unistd.h>

/* --- right arguments, to be spoilt --- */

static int callbacks; /* that should not have come */

static void unwanted_iov(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                         orte_rml_tag_t tag, void *cbdata)
{
    (void) status;
    (void) peer;
    (void) msg;
    (void) count;
    (void) tag;
    (void) cbdata;
    callbacks++;
}

static void unwanted_buffer(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                            orte_rml_tag_t tag, void *cbdata)
{
    (void) status;
    (void) peer;
    (void) buffer;
    (void) tag;
    (void) cbdata;
    callbacks++;
}

static uint8_t byte = 'x';
static struct iovec one_byte = {&byte, 1};
static opal_buffer_t *some_buffer;

static struct arguments right_arguments(const struct cell *cell)
{
    if (!some_buffer) {
        some_buffer = OBJ_NEW(opal_buffer_t);
        must(opal_dss.pack(some_buffer, &byte, 1, OPAL_BYTE) == OPAL_SUCCESS);
    }
    return (struct arguments){.peer = &me,
                              .msg = &one_byte,
                              .count = 1,
                              .buffer = some_buffer,
                              .tag = cell_tag(cell),
                              .flags = flag_values[cell->flag],
                              .iov_fn = unwanted_iov,
                              .buffer_fn = unwanted_buffer};
}

static void refuses(const struct cell *cell, struct arguments wrong)
{
    must(call_raw(cell->fn, wrong) == ORTE_ERR_BAD_PARAM);
}

/* Neither callbacks, nor receives, nor messages are left. */
static void nothing_happened(const struct cell *cell)
{
    static struct cell peek = {RECV_NB, PEEK, SUCCESS};
    struct call call = {.cell = &peek};
    wait_idly();
    must(callbacks == 0);
    must(orte_rml.recv_cancel(ORTE_NAME_WILDCARD, cell_tag(cell)) == ORTE_ERR_NOT_FOUND);
    must(orte_rml.recv_cancel(&me, cell_tag(cell)) == ORTE_ERR_NOT_FOUND);
    must(call_receive(&call, &peek, ORTE_NAME_WILDCARD, cell_tag(cell), 10) == ORTE_SUCCESS);
    wait_idly();
    must(call.ended == 0);
    must(orte_rml.recv_cancel(ORTE_NAME_WILDCARD, cell_tag(cell)) == ORTE_SUCCESS);
    call_fini(&call);
}

/* --- wrong arguments --- */

static void wrong_names(const struct cell *cell)
{
    static orte_process_name_t names[] = {
        {ORTE_JOBID_INVALID, 0},
        {0, ORTE_VPID_INVALID},
        {ORTE_JOBID_WILDCARD, 0},
        {0, ORTE_VPID_WILDCARD},
    };
    struct arguments wrong = right_arguments(cell);
    wrong.peer = NULL;
    refuses(cell, wrong);
    for (int i = 0; i < (is_send(cell->fn) ? 4 : 2); i++) { /* a destination is one process */
        wrong.peer = &names[i];
        refuses(cell, wrong);
    }
    wrong = right_arguments(cell);
    wrong.tag = ORTE_RML_TAG_INVALID;
    refuses(cell, wrong);
}

static void wrong_lists(const struct cell *cell)
{
    struct arguments wrong = right_arguments(cell);
    struct iovec nowhere = {NULL, 1};
    struct iovec huge[] = {{&byte, INT_MAX}, {&byte, 1}}, most[] = {{&byte, 1}, {&byte, SIZE_MAX}};
    wrong.msg = NULL;
    refuses(cell, wrong);
    wrong = right_arguments(cell);
    wrong.count = -1;
    refuses(cell, wrong);
    wrong.count = 1;
    wrong.msg = &nowhere;
    if (flag_values[cell->flag] & ORTE_RML_ALLOC && is_receive(cell->fn)) {
        wrong.count = 0; /* no element to put it into */
    }
    refuses(cell, wrong);
    if (is_send(cell->fn)) {
        wrong.count = 2;
        wrong.msg = huge;
        refuses(cell, wrong);
        wrong.msg = most;
        refuses(cell, wrong);
    }
}

static void wrong_contacts(void)
{
    static const char *const texts[] = {"",
                                        "no contact",
                                        "1.2",
                                        "1.2;",
                                        "1;tcp://127.0.0.1:1",
                                        "1.2;tcp://127.0.0.1",
                                        "1.2;tcp://127.0.0.1:0x1",
                                        "1.2;tcp://127.0.0.1:1;",
                                        "1.2;tcp://127.0.0.1:70000",
                                        "1.2;gopher://127.0.0.1:1",
                                        "*.2;tcp://127.0.0.1:1"};
    must(orte_rml.set_contact_info(NULL) == ORTE_ERR_BAD_PARAM);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        must(orte_rml.set_contact_info(texts[i]) == ORTE_ERR_BAD_PARAM);
    }
}

void wrong_arguments(const struct cell *cell)
{
    callbacks = 0;
    if (cell->fn == SET_CONTACT_INFO) {
        wrong_contacts();
        return;
    }
    wrong_names(cell);
    if (is_of_buffers(cell->fn) && cell->fn != RECV_BUFFER_NB) {
        struct arguments wrong = right_arguments(cell);
        wrong.buffer = NULL;
        refuses(cell, wrong);
    } else if (!is_of_buffers(cell->fn) && cell->fn != RECV_CANCEL) {
        wrong_lists(cell);
    }
    if (is_nonblocking(cell->fn)) {
        struct arguments wrong = right_arguments(cell);
        wrong.iov_fn = NULL;
        wrong.buffer_fn = NULL;
        refuses(cell, wrong);
    }
    nothing_happened(cell);
}

/* --- nobody there --- */

/* A message that ends only when it has arrived, or cannot: with the status, from the call or in its
 * callback. */
static void fails_to(const struct cell *cell, const orte_process_name_t *peer, int status)
{
    static uint8_t data[100000];
    bool delivered = flag_values[cell->flag] & KEEL_RML_DELIVERED;
    struct call call = {.cell = cell};
    int result = call_send(&call, cell, peer, cell_tag(cell), data, delivered ? 1 : sizeof(data));
    if (result >= 0) {
        must(is_nonblocking(cell->fn));
        call_wait(&call);
        must(call.peer.jobid == peer->jobid && call.peer.vpid == peer->vpid);
        result = call.status;
    }
    must(result == status);
    wait_idly();
    must(call.ended <= 1);
    call_fini(&call);
}

void nobody_of_that_name(const struct cell *cell)
{
    orte_process_name_t beyond = {me.jobid, ranks}, stranger = {me.jobid + (7u << 16), 0};
    orte_process_name_t *names[] = {&beyond, &stranger};
    for (int i = 0; i < 2; i++) {
        struct arguments to_nobody = right_arguments(cell);
        to_nobody.peer = names[i];
        fails_to(cell, names[i], ORTE_ERR_ADDRESSEE_UNKNOWN);
        must(call_raw(cell->fn, to_nobody) == ORTE_ERR_ADDRESSEE_UNKNOWN); /* a small one, too */
    }
}

/* A port that nobody listens at: one that was just given back. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && bind(fd, (struct sockaddr *) &address, size) == 0);
    must(getsockname(fd, (struct sockaddr *) &address, &size) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

void nobody_at_that_address(const struct cell *cell)
{
    char contact[128];
    orte_process_name_t stranger = {me.jobid + (9u << 16), cell_tag(cell)};
    snprintf(contact, sizeof(contact), "%u.%u;tcp://127.0.0.1:%d;tcp://127.0.0.1:%d",
             stranger.jobid, stranger.vpid, free_port(), free_port());
    must(orte_rml.set_contact_info(contact) == ORTE_SUCCESS);
    fails_to(cell, &stranger, ORTE_ERR_UNREACH);
    fails_to(cell, &stranger, ORTE_ERR_UNREACH); /* tried again */
}

/* --- too early, too late --- */

static struct call early[FNS][FLAGS];
static struct cell early_cells[FNS][FLAGS];

void works_before(const struct cell *cell)
{
    if (cell->fn == SET_CONTACT_INFO) {
        must(orte_rml.set_contact_info("98304.7;tcp://127.0.0.1:1") == ORTE_SUCCESS);
    } else if (cell->fn == RECV_CANCEL) {
        must(orte_rml.recv_cancel(&me, cell_tag(cell)) == ORTE_ERR_NOT_FOUND);
        must(orte_rml.recv_buffer_nb(&me, cell_tag(cell), 0, unwanted_buffer, NULL) ==
             ORTE_SUCCESS);
        must(orte_rml.recv_cancel(&me, cell_tag(cell)) == ORTE_SUCCESS);
    } else {
        struct cell *kept = &early_cells[cell->fn][cell->flag];
        *kept = *cell;
        must(call_receive(&early[cell->fn][cell->flag], kept, &me, cell_tag(cell), 10) ==
             ORTE_SUCCESS);
        must(early[cell->fn][cell->flag].ended == 0);
    }
}

static void worked(struct call *call)
{
    const struct cell *cell = call->cell;
    current = cell;
    say(&me, cell_tag(cell), is_of_buffers(cell->fn), "early", 5);
    call_wait(call);
    must(call->ended == 1 && call->size == 5 && memcmp(call->data, "early", 5) == 0);
    if (flag_values[cell->flag] & ORTE_RML_PERSISTENT) {
        must(orte_rml.recv_cancel(&me, cell_tag(cell)) == ORTE_SUCCESS);
    }
    if (flag_values[cell->flag] & ORTE_RML_PEEK) {
        hear(&me, cell_tag(cell), is_of_buffers(cell->fn), "early", 5);
    }
    call_fini(call);
}

void worked_before(void)
{
    for (int fn = 0; fn < FNS; fn++) {
        for (int flag = 0; flag < FLAGS; flag++) {
            if (early[fn][flag].cell) {
                worked(&early[fn][flag]);
            }
        }
    }
}

static void refused(const struct cell *cell)
{
    callbacks = 0;
    switch (cell->fn) {
    case ENABLE_COMM:
        must(orte_rml.enable_comm() == ORTE_ERR_COMM_DISABLED);
        break;
    case FINALIZE:
        must(orte_rml.finalize() == ORTE_ERR_COMM_DISABLED);
        break;
    case GET_CONTACT_INFO:
        must(orte_rml.get_contact_info() == NULL);
        break;
    case SET_CONTACT_INFO:
        must(orte_rml.set_contact_info("98304.7;tcp://127.0.0.1:1") == ORTE_ERR_COMM_DISABLED);
        break;
    default:
        must(call_raw(cell->fn, right_arguments(cell)) == ORTE_ERR_COMM_DISABLED);
    }
    wait_idly();
    must(callbacks == 0);
}

void refused_before(const struct cell *cell)
{
    refused(cell);
}

void refused_after(const struct cell *cell)
{
    refused(cell);
}
