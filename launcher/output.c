#include <config.h>

#include <launcher/output.h>

#include <base/list.h>
#include <base/log.h>
#include <base/sock.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/stdio.h>
#include <launcher/tags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOB_NUMBER 1u

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
    struct list marks;
};

/* One stream of one rank. */
struct stream {
    struct tagger *tagger; /* NULL: bytes go on as they are */
    int file;              /* owned; -1: not yet opened, or no folder was asked for */
};

struct output {
    const struct run_request *request; /* borrowed */
    const struct output_ops *ops;      /* borrowed */
    void *arg;
    void (*idle)(void *arg);
    struct sink sinks[2];
    struct stream *streams; /* owned: two for each rank */
    uint32_t rank_count;    /* that streams has room for */
    bool folder_failed;
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
    output->ops->failed(output->arg, (uint8_t) (1 + (sink - output->sinks)), error);
}

static const struct stdio_writer_ops sink_ops = {.written = sink_written, .failed = sink_failed};

static void sink_put(struct sink *sink, const void *data, size_t size)
{
    if (stdio_writer_put(sink->writer, data, size)) {
        sink->given += size;
    } else {
        log_error(LOG_LAUNCHER, "no memory for output: %zu bytes are lost", size);
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

static int make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -errno;
}

static int open_file(const char *folder, uint32_t rank, int number)
{
    char path[4096];
    int used = snprintf(path, sizeof(path), "%s", folder);
    if (used < 0 || (size_t) used + 64 > sizeof(path)) {
        return -ENAMETOOLONG;
    }
    char *end = path + used;
    int status = make_folder(path);
    if (status == 0) {
        sprintf(end, "/%u", JOB_NUMBER);
        status = make_folder(path);
    }
    if (status == 0) {
        sprintf(end, "/%u/rank.%u", JOB_NUMBER, rank);
        status = make_folder(path);
    }
    if (status != 0) {
        return status;
    }
    sprintf(end, "/%u/rank.%u/%s", JOB_NUMBER, rank, number == 1 ? "stdout" : "stderr");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return fd >= 0 ? fd : -errno;
}

static void file_put(struct output *output, struct stream *stream, uint32_t rank, int number,
                     const void *data, size_t size)
{
    if (stream->file < 0 && !output->folder_failed) {
        stream->file = open_file(output->request->output_dir, rank, number);
    }
    int status = stream->file < 0 ? stream->file : fd_write_all(stream->file, data, size);
    if (status < 0 && !output->folder_failed) {
        output->folder_failed = true;
        log_error(LOG_LAUNCHER, "%s: %s; output files are not written any more",
                  output->request->output_dir, strerror(-status));
    }
}

bool output_files_lost(const struct output *output)
{
    return output->folder_failed;
}

/* --- streams --- */

static struct stream *stream_of(struct output *output, uint32_t rank, int number)
{
    if (rank >= output->rank_count) {
        uint32_t count = rank + 1 > 2 * output->rank_count ? rank + 1 : 2 * output->rank_count;
        struct stream *streams = realloc(output->streams, 2 * (size_t) count * sizeof(*streams));
        if (!streams) {
            return NULL;
        }
        for (size_t i = 2 * (size_t) output->rank_count; i < 2 * (size_t) count; i++) {
            streams[i] = (struct stream){.file = -1};
        }
        output->streams = streams;
        output->rank_count = count;
    }
    struct stream *stream = &output->streams[2 * (size_t) rank + (size_t) (number - 1)];
    const struct run_request *request = output->request;
    if (!stream->tagger && (request->tag_output || request->timestamp_output) &&
        tagger_create(&stream->tagger, request->tag_output, request->timestamp_output, JOB_NUMBER,
                      rank, number == 1 ? "stdout" : "stderr") != ORTE_SUCCESS) {
        return NULL;
    }
    return stream;
}

/* Where a tagged line goes. */
struct line_target {
    struct output *output;
    struct stream *stream;
    uint32_t rank;
    int number;
};

static void put_line(void *arg, const char *data, size_t size)
{
    struct line_target *target = arg;
    if (target->output->request->output_dir) {
        file_put(target->output, target->stream, target->rank, target->number, data, size);
    } else {
        sink_put(&target->output->sinks[target->number - 1], data, size);
    }
}

void output_put(struct output *output, uint32_t source, uint32_t rank, int number,
                const uint8_t *data, size_t size)
{
    struct stream *stream = stream_of(output, rank, number);
    struct line_target target = {output, stream, rank, number};
    struct sink *sink = &output->sinks[number - 1];
    if (!stream) {
        log_error(LOG_LAUNCHER, "no memory for output: %zu bytes of rank %u are lost", size, rank);
    } else if (stream->tagger) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        tagger_feed(stream->tagger, (const char *) data, size, &now, put_line, &target);
    } else if (output->request->output_dir) {
        file_put(output, stream, rank, number, data, size);
    } else {
        sink_put(sink, data, size);
    }
    if (output->request->output_dir) {
        credit(output, source, size);
    } else {
        sink_mark(sink, source, size); /* a tagger keeps back less than a line, which counts too */
    }
}

void output_plain(struct output *output, int stream, const char *text)
{
    struct sink *sink = &output->sinks[stream == 1 ? 0 : 1];
    sink_put(sink, text, strlen(text));
    sink_put(sink, "\n", 1);
}

void output_line(struct output *output, const char *text)
{
    char line[1100];
    int size = snprintf(line, sizeof(line), "keelrun: %s\n", text);
    if (size > (int) sizeof(line) - 1) {
        size = sizeof(line) - 1;
        line[size - 1] = '\n';
    }
    sink_put(&output->sinks[1], line, (size_t) size);
}

void output_finish(struct output *output, void (*idle)(void *arg))
{
    for (uint32_t i = 0; i < 2 * output->rank_count; i++) {
        struct line_target target = {output, &output->streams[i], i / 2, 1 + (int) i % 2};
        if (target.stream->tagger) {
            tagger_end(target.stream->tagger, put_line, &target);
        }
    }
    output->idle = idle;
    if (output_is_idle(output)) {
        idle(output->arg);
    }
}

/* --- life --- */

int output_create(struct output **out, struct loop *loop, const struct run_request *request,
                  const struct output_ops *ops, void *arg)
{
    struct output *output = calloc(1, sizeof(*output));
    if (!output) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    output->request = request;
    output->ops = ops;
    output->arg = arg;
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
    *out = output;
    return ORTE_SUCCESS;
}

void output_destroy(struct output *output)
{
    if (!output) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        stdio_writer_end(output->sinks[i].writer, 0);
        for (struct list *link; (link = list_pop(&output->sinks[i].marks));) {
            free(container_of(link, struct mark, link));
        }
    }
    for (uint32_t i = 0; i < 2 * output->rank_count; i++) {
        tagger_destroy(output->streams[i].tagger);
        fd_close(&output->streams[i].file);
    }
    free(output->streams);
    free(output);
}
