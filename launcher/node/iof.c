#include <config.h>

#include <launcher/node/iof.h>

#include <base/data/list.h>
#include <base/net/sock.h>
#include <base/settings/log.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wireup/proto.h>

#define READ_MAX (64u * 1024u)
#define LEAVE_READS 64 /* more than a pty holds */
#define HANG_UP_US 100000u

struct stream {
    struct list link;
    struct iof *iof;
    struct loop_io io;
    struct loop_timer hang_up; /* a pty that nobody reads: its writer gets EIO from then on */
    int fd;                    /* owned */
    uint32_t rank;
    pid_t pid;
    uint8_t number; /* 1: stdout, 2: stderr */
};

/* A rank's standard input. */
struct input {
    struct list link;
    struct iof *iof;
    struct loop_io io;
    int fd;           /* owned */
    uint64_t written; /* bytes so far */
};

/* A piece of input that some rank has not taken yet. */
struct chunk {
    struct list link;
    size_t size;
    uint8_t data[];
};

struct iof {
    struct rml *rml;   /* borrowed */
    struct loop *loop; /* borrowed */
    orte_process_name_t hnp;
    struct list streams;
    int64_t window; /* output bytes that may still be sent */
    bool draining;
    bool lost;      /* some output was, for want of memory */
    bool closed[3]; /* by stream: nobody reads it */
    void (*unread)(void *arg, uint32_t rank);
    void *unread_arg;
    struct list inputs; /* struct input: of the ranks that may still take some */
    struct list chunks;
    uint64_t input_begin, input_end; /* where the first chunk begins, and the last one ends */
    bool input_ended;                /* the user's input is at its end */
    uint8_t scratch[];               /* READ_MAX */
};

/* False: it is lost. */
static bool to_hnp(struct iof *iof, opal_buffer_t *buffer)
{
    int status = rml_give(iof->rml, &iof->hnp, OOB_STDIO, ORTE_RML_TAG_IOF_HNP, buffer);
    unsigned held = 0;
    if (status == ORTE_ERR_OUT_OF_RESOURCE && log_rate_ok("iof", &held)) {
        log_error(LOG_LAUNCHER, "no memory to forward output");
    } else if (status != ORTE_SUCCESS) {
        log_debug(LOG_LAUNCHER, "output is lost: %s", opal_strerror(status));
    }
    return status == ORTE_SUCCESS;
}

static void stream_close(struct stream *stream)
{
    struct iof *iof = stream->iof;
    loop_io_watch(&stream->io, 0);
    loop_timer_stop(&stream->hang_up);
    fd_close(&stream->fd);
    list_remove(&stream->link);
    free(stream);
    if (iof->draining && list_empty(&iof->streams)) {
        iof->draining = false;
        to_hnp(iof, proto_new(IOF_DRAINED, "c", iof->lost));
    }
}

static void hang_up(struct loop_timer *timer)
{
    stream_close(container_of(timer, struct stream, hang_up));
}

static void watch_all(struct iof *iof, bool on)
{
    struct stream *stream;
    list_for_each (stream, &iof->streams, struct stream, link) {
        loop_io_watch(&stream->io, on ? EV_READ : 0);
    }
}

static void send_output(struct iof *iof, uint32_t rank, pid_t pid, uint8_t number, const void *data,
                        size_t size)
{
    if (!to_hnp(iof, proto_new(IOF_OUTPUT, "uucb", rank, (uint32_t) pid, number, data, size))) {
        iof->lost = true;
        return;
    }
    iof->window -= (int64_t) size;
    if (iof->window <= 0) {
        watch_all(iof, false);
    }
}

/* 0: a rank whose streams are closed. */
static pid_t pid_of(const struct iof *iof, uint32_t rank)
{
    struct stream *stream;
    list_for_each (stream, &iof->streams, struct stream, link) {
        if (stream->rank == rank) {
            return stream->pid;
        }
    }
    return 0;
}

bool iof_write(struct iof *iof, uint32_t rank, int stream, const void *data, size_t size)
{
    if (iof->closed[stream] || iof->window <= 0 || size > IOF_WINDOW) {
        return false;
    }
    send_output(iof, rank, pid_of(iof, rank), (uint8_t) stream, data, size);
    return true;
}

/* The kernel looks for bytes and then whether a writer is left, so the first EIO of a pty may come
 * before its last bytes. */
static ssize_t read_stream(const struct stream *stream, void *data, size_t size)
{
    ssize_t got = read(stream->fd, data, size);
    return got < 0 && errno == EIO ? read(stream->fd, data, size) : got;
}

static void stream_ready(struct loop_io *io, short events)
{
    (void) events;
    struct stream *stream = container_of(io, struct stream, io);
    struct iof *iof = stream->iof;
    ssize_t got = read_stream(stream, iof->scratch, READ_MAX);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got > 0 && iof->closed[stream->number]) {
        loop_io_watch(io, 0); /* it blocks until the signal comes */
        iof->unread(iof->unread_arg, stream->rank);
        loop_timer_start(&stream->hang_up, HANG_UP_US);
        return;
    }
    if (got <= 0) {
        stream_close(stream);
        return;
    }
    send_output(iof, stream->rank, stream->pid, stream->number, iof->scratch, (size_t) got);
}

void iof_add_output(struct iof *iof, uint32_t rank, pid_t pid, int number, int fd)
{
    struct stream *stream = iof->closed[number] ? NULL : calloc(1, sizeof(*stream));
    if (!stream) {
        if (!iof->closed[number]) {
            log_error(LOG_LAUNCHER, "no memory for the output of rank %u", rank);
        }
        close(fd);
        return;
    }
    stream->iof = iof;
    stream->fd = fd;
    stream->rank = rank;
    stream->pid = pid;
    stream->number = (uint8_t) number;
    list_append(&iof->streams, &stream->link);
    loop_io_init(&stream->io, iof->loop, fd, stream_ready);
    loop_timer_init(&stream->hang_up, iof->loop, hang_up);
    if (iof->window > 0) {
        loop_io_watch(&stream->io, EV_READ);
    }
}

void iof_on_unread(struct iof *iof, void (*unread)(void *arg, uint32_t rank), void *arg)
{
    iof->unread = unread;
    iof->unread_arg = arg;
}

void iof_set_window(struct iof *iof, struct window window)
{
    struct stream *stream;
    list_for_each (stream, &iof->streams, struct stream, link) {
        pty_resize(stream->fd, window); /* a pipe has no size */
    }
}

/* Nobody reads it any more. Who writes to a pipe gets SIGPIPE, or EPIPE; a pty is watched until
 * somebody writes, who gets SIGPIPE, or EIO. What was written before is dropped. */
static void stream_leave(struct stream *stream)
{
    if (!isatty(stream->fd)) {
        stream_close(stream);
        return;
    }
    int reads = 0;
    while (reads < LEAVE_READS && read(stream->fd, stream->iof->scratch, READ_MAX) > 0) {
        reads++;
    }
    loop_io_watch(&stream->io, EV_READ);
}

static int take_closed(struct iof *iof, opal_buffer_t *buffer)
{
    uint8_t number;
    int status = proto_unpack(buffer, "c", &number);
    if (status != OPAL_SUCCESS || number < 1 || number > 2) {
        return status != OPAL_SUCCESS ? status : ORTE_ERR_BAD_PARAM;
    }
    iof->closed[number] = true;
    struct stream *stream;
    list_for_each (stream, &iof->streams, struct stream, link) {
        if (stream->number == number) {
            stream_leave(stream);
        }
    }
    return ORTE_SUCCESS;
}

/* All ranks have ended: who is left and writes to a pty that nobody reads is not waited for. */
void iof_drain(struct iof *iof)
{
    struct stream *stream;
    list_for_each (stream, &iof->streams, struct stream, link) {
        if (iof->closed[stream->number]) {
            stream_close(stream);
        }
    }
    if (list_empty(&iof->streams)) {
        to_hnp(iof, proto_new(IOF_DRAINED, "c", iof->lost));
        return;
    }
    iof->draining = true;
}

/* --- input --- */

static void input_close(struct input *input)
{
    loop_io_watch(&input->io, 0);
    fd_close(&input->fd);
    list_remove(&input->link);
    free(input);
}

/* Writes as much as the rank takes. False: it has closed its input, or ended. */
static bool input_write(struct input *input)
{
    struct iof *iof = input->iof;
    uint64_t at = iof->input_begin;
    struct chunk *chunk;
    list_for_each (chunk, &iof->chunks, struct chunk, link) {
        uint64_t end = at + chunk->size;
        while (input->written < end) {
            size_t left = (size_t) (end - input->written);
            ssize_t put = write(input->fd, chunk->data + (chunk->size - left), left);
            if (put < 0 && errno == EINTR) {
                continue;
            }
            if (put < 0) {
                loop_io_watch(&input->io, EV_WRITE);
                return errno == EAGAIN;
            }
            input->written += (size_t) put;
        }
        at = end;
    }
    loop_io_watch(&input->io, 0);
    return true;
}

/* What all ranks have taken is no longer kept, and the HNP hears of it. */
static void inputs_settle(struct iof *iof)
{
    uint64_t taken = iof->input_end, before = iof->input_begin;
    struct input *input;
    struct chunk *chunk;
    if (list_empty(&iof->inputs) && !iof->input_ended) {
        to_hnp(iof, proto_new(IOF_INPUT_CLOSED, ""));
        iof->input_ended = true;
    }
    list_for_each (input, &iof->inputs, struct input, link) {
        taken = input->written < taken ? input->written : taken;
    }
    list_for_each (chunk, &iof->chunks, struct chunk, link) {
        if (iof->input_begin + chunk->size > taken) {
            break;
        }
        iof->input_begin += chunk->size;
        list_remove(&chunk->link);
        free(chunk);
    }
    if (iof->input_begin > before) {
        to_hnp(iof, proto_new(IOF_INPUT_CREDIT, "u", (uint32_t) (iof->input_begin - before)));
    }
}

static void input_serve(struct input *input)
{
    struct iof *iof = input->iof;
    if (!input_write(input) || (iof->input_ended && input->written == iof->input_end)) {
        input_close(input);
    }
}

static void input_ready(struct loop_io *io, short events)
{
    (void) events;
    struct input *input = container_of(io, struct input, io);
    struct iof *iof = input->iof;
    input_serve(input);
    inputs_settle(iof);
}

void iof_add_input(struct iof *iof, int fd)
{
    struct input *input = calloc(1, sizeof(*input));
    if (!input) {
        log_error(LOG_LAUNCHER, "no memory for a rank's input");
        close(fd);
        return;
    }
    input->iof = iof;
    input->fd = fd;
    loop_io_init(&input->io, iof->loop, fd, input_ready);
    list_append(&iof->inputs, &input->link);
}

/* The bytes are at most a window's worth: the HNP sends no more than it has credit for. */
static int take_input(struct iof *iof, opal_buffer_t *buffer)
{
    uint8_t *data;
    size_t size;
    int status = proto_unpack(buffer, "b", &data, &size);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct chunk *chunk = size > 0 && !iof->input_ended ? malloc(sizeof(*chunk) + size) : NULL;
    if (chunk) {
        chunk->size = size;
        memcpy(chunk->data, data, size);
        list_append(&iof->chunks, &chunk->link);
        iof->input_end += size;
    } else if (size > 0 && !iof->input_ended) {
        status = ORTE_ERR_OUT_OF_RESOURCE;
    }
    iof->input_ended |= size == 0;
    free(data);
    struct input *input;
    list_for_each (input, &iof->inputs, struct input, link) {
        input_serve(input);
    }
    inputs_settle(iof);
    return status;
}

static int take_credit(struct iof *iof, opal_buffer_t *buffer)
{
    uint32_t bytes;
    int status = proto_unpack(buffer, "u", &bytes);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    bool was_closed = iof->window <= 0;
    iof->window += bytes;
    if (was_closed && iof->window > 0) {
        watch_all(iof, true);
    }
    return ORTE_SUCCESS;
}

static void from_hnp(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct iof *iof = arg;
    uint8_t kind = 0;
    int status = proto_unpack(*buffer, "c", &kind);
    if (status == OPAL_SUCCESS) {
        status = kind == IOF_INPUT           ? take_input(iof, *buffer)
                 : kind == IOF_OUTPUT_CREDIT ? take_credit(iof, *buffer)
                 : kind == IOF_OUTPUT_CLOSED ? take_closed(iof, *buffer)
                                             : ORTE_ERR_BAD_PARAM;
    }
    if (status != ORTE_SUCCESS) {
        log_error(LOG_LAUNCHER, "dropped a stdio message of %s: %s", ORTE_NAME_PRINT(&info->origin),
                  opal_strerror(status));
    }
}

int iof_create(struct iof **out, struct rml *rml, struct loop *loop, const orte_process_name_t *hnp)
{
    struct iof *iof = malloc(sizeof(*iof) + READ_MAX);
    if (!iof) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *iof = (struct iof){.rml = rml, .loop = loop, .hnp = *hnp, .window = IOF_WINDOW};
    list_init(&iof->streams);
    list_init(&iof->inputs);
    list_init(&iof->chunks);
    rml_handle(rml, ORTE_RML_TAG_IOF_PROXY, from_hnp, iof);
    *out = iof;
    return ORTE_SUCCESS;
}

void iof_destroy(struct iof *iof)
{
    if (!iof) {
        return;
    }
    rml_handle(iof->rml, ORTE_RML_TAG_IOF_PROXY, NULL, NULL);
    iof->draining = false;
    while (!list_empty(&iof->streams)) {
        stream_close(container_of(iof->streams.next, struct stream, link));
    }
    while (!list_empty(&iof->inputs)) {
        input_close(container_of(iof->inputs.next, struct input, link));
    }
    for (struct list *link; (link = list_pop(&iof->chunks));) {
        free(container_of(link, struct chunk, link));
    }
    free(iof);
}
