#include <config.h>

#include <launcher/front/output.h>

#include <base/data/array.h>
#include <base/data/list.h>
#include <base/net/sock.h>
#include <base/settings/log.h>
#include <base/text/reason.h>
#include <errno.h>
#include <launcher/front/outfile.h>
#include <launcher/front/stdio.h>
#include <launcher/front/tags.h>
#include <launcher/request/run_request.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1100, PLAIN_WAIT_MS = 1000 };

/* A place in what a writer is given: when all before it is written, the source learns that so many
 * bytes of its are. */
struct mark {
    struct list link;
    uint64_t position;
    uint32_t source;
    size_t bytes;
};

/* stdout or stderr. */
struct sink {
    struct output *output;
    struct stdio_writer *writer;
    const char *name;
    uint64_t given, written; /* bytes so far */
    bool owes;               /* some of the bytes are not yet written */
    bool failed;             /* nothing can be written any more */
    struct list marks;
};

/* One stream of one rank. */
struct stream {
    struct tagger *tagger; /* NULL: bytes go on as they are */
    struct outfile *file;  /* a user of it; NULL: not opened, or ended */
    bool ended;
};

struct output {
    const struct output_request *request; /* borrowed */
    const struct output_ops *ops;         /* borrowed */
    void *arg;
    void (*idle)(void *arg);
    struct sink sinks[2];
    struct stream *streams; /* owned: two for each rank */
    uint32_t rank_count;    /* that streams has room for */
    bool *shown;            /* owned, by rank up to RANKS_MAX: --output-ranks; NULL: all are */
    struct list files;      /* struct outfile */
    bool files_failed;
    bool lost; /* some of the output, or of the launcher's lines */
};

/* --- writers --- */

static bool output_is_idle(const struct output *output)
{
    return output->sinks[0].written == output->sinks[0].given &&
           output->sinks[1].written == output->sinks[1].given;
}

static void credit(struct output *output, uint32_t source, size_t bytes)
{
    output->ops->written(output->arg, source, (uint32_t) bytes);
}

static void sink_written(void *arg, size_t bytes)
{
    struct sink *sink = arg;
    struct mark *mark;
    sink->written += bytes;
    sink->owes = sink->owes && sink->written < sink->given;
    list_for_each (mark, &sink->marks, struct mark, link) {
        if (mark->position > sink->written) {
            break;
        }
        list_remove(&mark->link);
        credit(sink->output, mark->source, mark->bytes);
        free(mark);
    }
    if (sink->output->idle && output_is_idle(sink->output)) {
        sink->output->idle(sink->output->arg);
    }
}

static void sink_failed(void *arg, int error)
{
    struct sink *sink = arg;
    struct output *output = sink->output;
    log_info(LOG_LAUNCHER, "%s: %s", sink->name, strerror(error));
    sink->failed = true;
    output->lost = output->lost || sink->owes;
    output->ops->failed(output->arg, (uint8_t) (1 + (sink - output->sinks)), error);
}

static const struct stdio_writer_ops sink_ops = {.written = sink_written, .failed = sink_failed};

static void lose(struct output *output, size_t bytes)
{
    if (!output->lost) {
        output_line(output, "no memory for output: some of it is lost");
    }
    output->lost = true;
    log_info(LOG_LAUNCHER, "%zu bytes of output are lost", bytes);
}

static bool sink_put(struct sink *sink, const void *data, size_t size)
{
    if (!stdio_writer_put(sink->writer, data, size)) {
        return false;
    }
    sink->given += size;
    sink->owes = !sink->failed;
    sink->output->lost = sink->output->lost || sink->failed;
    return true;
}

/* What ranks wrote, or asked for. */
static void sink_put_output(struct sink *sink, const void *data, size_t size)
{
    if (!sink_put(sink, data, size)) {
        lose(sink->output, size);
    }
}

/* The source is told of its bytes once everything given so far is written; without memory to
 * remember that, at once: it must go on. */
static void sink_mark(struct sink *sink, uint32_t source, size_t bytes)
{
    struct mark *mark = sink->given > sink->written ? malloc(sizeof(*mark)) : NULL;
    if (!mark) {
        credit(sink->output, source, bytes);
        return;
    }
    *mark = (struct mark){.position = sink->given, .source = source, .bytes = bytes};
    list_append(&sink->marks, &mark->link);
}

/* --- files --- */

static void files_failed(struct output *output, int error)
{
    char text[1024];
    if (!output->files_failed) {
        snprintf(text, sizeof(text), "%s: %s; output files are not written any more",
                 output->request->path, strerror(error));
        output_line(output, text);
    }
    output->files_failed = true;
    output->lost = true;
}

/* At the stream's first bytes. */
static void file_begin(struct output *output, struct stream *stream,
                       const struct output_origin *origin)
{
    if (!output->request->path || stream->file || stream->ended || output->files_failed) {
        return;
    }
    int status = outfile_open(&stream->file, &output->files, output->request, origin);
    if (status < 0) {
        files_failed(output, -status);
    }
}

static void file_put(struct output *output, struct stream *stream, const void *data, size_t size)
{
    if (output->files_failed || !stream->file) {
        output->lost = true;
        return;
    }
    int status = fd_write_all(stream->file->fd, data, size);
    if (status < 0) {
        files_failed(output, -status);
    }
}

static void file_end(struct output *output, struct stream *stream)
{
    int status = outfile_close(stream->file);
    stream->file = NULL;
    stream->ended = true;
    if (status < 0) {
        files_failed(output, -status);
    }
}

/* --- streams --- */

static void print_tag(char tag[TAGS_TAG_MAX], enum output_tag kind,
                      const struct output_origin *origin)
{
    const char *stream = origin->number == 1 ? "stdout" : "stderr";
    switch (kind) {
    case OUTPUT_TAG_NONE:
        tag[0] = '\0';
        break;
    case OUTPUT_TAG_RANK:
        snprintf(tag, TAGS_TAG_MAX, "[%u] ", origin->rank);
        break;
    case OUTPUT_TAG_JOB:
        snprintf(tag, TAGS_TAG_MAX, "[%u,%u]<%s>: ", OUTPUT_JOB, origin->rank, stream);
        break;
    case OUTPUT_TAG_FULLNAME:
        snprintf(tag, TAGS_TAG_MAX, "[%s,%u]<%s>: ", origin->nspace, origin->rank, stream);
        break;
    case OUTPUT_TAG_DETAILED:
        snprintf(tag, TAGS_TAG_MAX, "[%s,%u][%s:%u]<%s>: ", origin->nspace, origin->rank,
                 origin->node, origin->pid, stream);
        break;
    }
}

/* Where lines are to be marked, or to be kept whole among others'. False: no memory. */
static bool add_tagger(const struct output_request *request, struct stream *stream,
                       const struct output_origin *origin)
{
    char tag[TAGS_TAG_MAX];
    if (request->raw ||
        (request->tag == OUTPUT_TAG_NONE && !request->timestamp && !output_is_shared(request))) {
        return true;
    }
    print_tag(tag, request->tag, origin);
    return tagger_create(&stream->tagger, tag, request->timestamp) == ORTE_SUCCESS;
}

static struct stream *stream_of(struct output *output, const struct output_origin *origin)
{
    uint32_t rank = origin->rank;
    if (rank >= output->rank_count) {
        uint32_t count = rank + 1 > 2 * output->rank_count ? rank + 1 : 2 * output->rank_count;
        if (!array_extend(&output->streams, 2 * (size_t) output->rank_count, 2 * (size_t) count,
                          sizeof(*output->streams))) {
            return NULL;
        }
        output->rank_count = count;
    }
    struct stream *stream = &output->streams[2 * (size_t) rank + (size_t) (origin->number - 1)];
    return stream->tagger || add_tagger(output->request, stream, origin) ? stream : NULL;
}

/* Where a tagged line goes. */
struct line_target {
    struct output *output;
    struct stream *stream;
    int number;
};

/* To keelrun's own stream, to a file, or to both. */
static void put(struct output *output, struct stream *stream, int number, const void *data,
                size_t size)
{
    if (output->request->path) {
        file_put(output, stream, data, size);
    }
    if (!output->request->no_copy) {
        sink_put_output(&output->sinks[number - 1], data, size);
    }
}

static void put_line(void *arg, const char *data, size_t size)
{
    const struct line_target *target = arg;
    put(target->output, target->stream, target->number, data, size);
}

static void put_stream(struct output *output, struct stream *stream, int number,
                       const uint8_t *data, size_t size)
{
    struct line_target target = {output, stream, number};
    struct timespec now;
    if (stream->tagger) {
        clock_gettime(CLOCK_REALTIME, &now);
        tagger_feed(stream->tagger, (const char *) data, size, &now, put_line, &target);
    } else {
        put(output, stream, number, data, size);
    }
}

void output_put(struct output *output, const struct output_origin *origin, const uint8_t *data,
                size_t size)
{
    if (output->shown && (origin->rank >= RANKS_MAX || !output->shown[origin->rank])) {
        credit(output, origin->source, size);
        return;
    }
    struct stream *stream = stream_of(output, origin);
    if (stream) {
        file_begin(output, stream, origin);
        put_stream(output, stream, origin->number, data, size);
    } else {
        lose(output, size);
    }
    if (output->request->no_copy) {
        credit(output, origin->source, size);
    } else { /* a tagger keeps back less than a line, which counts too */
        sink_mark(&output->sinks[origin->number - 1], origin->source, size);
    }
}

void output_plain(struct output *output, int stream, const char *text)
{
    struct sink *sink = &output->sinks[stream == 1 ? 0 : 1];
    sink_put_output(sink, text, strlen(text));
    sink_put_output(sink, "\n", 1);
}

const char *output_name(void)
{
    static const char dvm[] = "keel-dvm";
    return strcmp(program_invocation_short_name, dvm) == 0 ? dvm : "keelrun";
}

/* One line, whatever is in the text: names of programs and the like come from anybody. */
static size_t make_line(char line[LINE_BYTES], const char *text)
{
    snprintf(line, LINE_BYTES - 1, "%s: %s", output_name(), text);
    reason_printable(line);
    size_t size = strlen(line);
    line[size] = '\n';
    return size + 1;
}

void output_line(struct output *output, const char *text)
{
    char line[LINE_BYTES];
    if (!sink_put(&output->sinks[1], line, make_line(line, text)) && !output_line_now(text)) {
        output->lost = true;
    }
}

bool output_line_now(const char *text)
{
    char line[LINE_BYTES];
    size_t size = make_line(line, text);
    struct pollfd wait = {.fd = STDERR_FILENO, .events = POLLOUT};
    /* a pipe that is ready has room for all of it */
    return poll(&wait, 1, PLAIN_WAIT_MS) > 0 && write(STDERR_FILENO, line, size) == (ssize_t) size;
}

bool output_is_lost(const struct output *output)
{
    return output->lost || !output_is_idle(output);
}

static void end_stream(struct output *output, uint32_t at)
{
    struct stream *stream = &output->streams[at];
    if (stream->tagger) {
        struct line_target target = {output, stream, 1 + (int) at % 2};
        tagger_end(stream->tagger, put_line, &target);
    }
    file_end(output, stream);
}

void output_finish(struct output *output, void (*idle)(void *arg))
{
    for (uint32_t i = 0; i < 2 * output->rank_count; i++) {
        end_stream(output, i);
    }
    output->idle = idle;
    if (output_is_idle(output)) {
        idle(output->arg);
    }
}

/* --- life --- */

int output_create(struct output **out, struct loop *loop, const struct output_request *request,
                  const struct output_ops *ops, void *arg)
{
    struct output *output = calloc(1, sizeof(*output));
    if (!output) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    output->request = request;
    output->ops = ops;
    output->arg = arg;
    list_init(&output->files);
    for (int i = 0; i < 2; i++) {
        struct sink *sink = &output->sinks[i];
        sink->output = output;
        sink->name = i == 0 ? "stdout" : "stderr";
        list_init(&sink->marks);
        int status = stdio_writer_create(&sink->writer, loop, 1 + i, SIZE_MAX / 2, &sink_ops, sink);
        if (status != ORTE_SUCCESS) {
            output_destroy(output);
            return status;
        }
    }
    if (request->ranks && !(output->shown = ranks_parse(request->ranks))) {
        output_destroy(output);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *out = output;
    return ORTE_SUCCESS;
}

void output_destroy(struct output *output)
{
    if (!output) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        stdio_writer_end(output->sinks[i].writer);
        for (struct list *link; (link = list_pop(&output->sinks[i].marks));) {
            free(container_of(link, struct mark, link));
        }
    }
    for (uint32_t i = 0; i < 2 * output->rank_count; i++) {
        tagger_destroy(output->streams[i].tagger);
        (void) outfile_close(output->streams[i].file);
    }
    free(output->streams);
    free(output->shown);
    free(output);
}
