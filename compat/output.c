/* opal_output: numbered streams to standard output and standard error. */
#include <config.h>

#include <errno.h>
#include <opal/util/output.h>
#include <orte/util/proc_info.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STREAMS_MAX = 64 };

struct stream {
    bool used, enabled, to_stdout, to_stderr;
    bool host_and_pid; /* instead of a prefix */
    int verbosity;
    char *prefix, *suffix; /* owned; NULL: none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by lock, but for the writes. */
static struct stream streams[STREAMS_MAX] = {
    [0] = {.used = true, .enabled = true, .to_stderr = true, .host_and_pid = true},
};

static void stream_construct(opal_object_t *object)
{
    opal_output_stream_t *stream = (opal_output_stream_t *) object;
    opal_object_t super = stream->super;
    *stream = (opal_output_stream_t){.super = super};
}

const opal_class_t opal_output_stream_t_class = {
    .cls_name = "opal_output_stream_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_construct = stream_construct,
    .cls_sizeof = sizeof(opal_output_stream_t),
};

/* The stream with this number, or NULL. */
static struct stream *find_locked(int id)
{
    return id >= 0 && id < STREAMS_MAX && streams[id].used ? &streams[id] : NULL;
}

/* --- opening and closing --- */

static int copy(char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return text && !*to ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}

/* What the caller wants, as a stream of ours. */
static int translate(struct stream *stream, const opal_output_stream_t *wanted)
{
    *stream = streams[0];
    stream->prefix = stream->suffix = NULL;
    if (!wanted) {
        return OPAL_SUCCESS;
    }
    if (wanted->lds_want_syslog || wanted->lds_want_file) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    *stream = (struct stream){.used = true,
                              .enabled = !wanted->lds_is_debugging || OPAL_ENABLE_DEBUG,
                              .to_stdout = wanted->lds_want_stdout,
                              .to_stderr = wanted->lds_want_stderr,
                              .verbosity = wanted->lds_verbose_level};
    int status = copy(&stream->prefix, wanted->lds_prefix);
    if (status == OPAL_SUCCESS) {
        status = copy(&stream->suffix, wanted->lds_suffix);
    }
    if (status != OPAL_SUCCESS) {
        free(stream->prefix);
    }
    return status;
}

int opal_output_open(opal_output_stream_t *wanted)
{
    int id = 1;
    struct stream stream;
    pthread_mutex_lock(&lock);
    while (id < STREAMS_MAX && streams[id].used) {
        id++;
    }
    int status = id < STREAMS_MAX ? translate(&stream, wanted) : OPAL_ERR_OUT_OF_RESOURCE;
    if (status == OPAL_SUCCESS) {
        streams[id] = stream;
    }
    pthread_mutex_unlock(&lock);
    return status == OPAL_SUCCESS ? id : status;
}

void opal_output_close(int id)
{
    pthread_mutex_lock(&lock);
    struct stream *stream = find_locked(id);
    if (stream && id > 0) {
        free(stream->prefix);
        free(stream->suffix);
        *stream = (struct stream){0};
    }
    pthread_mutex_unlock(&lock);
}

bool opal_output_switch(int id, bool enable)
{
    pthread_mutex_lock(&lock);
    struct stream *stream = find_locked(id);
    bool was = stream && stream->enabled;
    if (stream) {
        stream->enabled = enable;
    }
    pthread_mutex_unlock(&lock);
    return was;
}

void opal_output_set_verbosity(int id, int level)
{
    pthread_mutex_lock(&lock);
    struct stream *stream = find_locked(id);
    if (stream) {
        stream->verbosity = level;
    }
    pthread_mutex_unlock(&lock);
}

int opal_output_get_verbosity(int id)
{
    pthread_mutex_lock(&lock);
    const struct stream *stream = find_locked(id);
    int level = stream ? stream->verbosity : -1;
    pthread_mutex_unlock(&lock);
    return level;
}

/* --- writing --- */

/* The whole line with its newline, malloc'd; NULL: no memory. */
static char *compose_locked(const struct stream *stream, const char *text)
{
    char host[256] = "localhost", own[300] = "";
    char *line = NULL;
    size_t length = strlen(text);
    bool ends = length > 0 && text[length - 1] == '\n';
    if (stream->host_and_pid) {
        (void) gethostname(host, sizeof(host) - 1);
        snprintf(own, sizeof(own), "[%s:%ld] ",
                 orte_process_info.nodename ? orte_process_info.nodename : host, (long) getpid());
    }
    const char *prefix = stream->prefix ? stream->prefix : own;
    const char *suffix = stream->suffix ? stream->suffix : "";
    if (asprintf(&line, "%s%.*s%s\n", prefix, (int) (length - ends), text, suffix) < 0) {
        return NULL;
    }
    return line;
}

static void write_all(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(fd, text, left);
        if (written < 0 && errno != EINTR) {
            return;
        }
        text += written > 0 ? written : 0;
        left -= written > 0 ? (size_t) written : 0;
    }
}

/* The line for a stream, and whither; NULL: the stream is silent for this level. */
static char *make_line(int id, int level, bool *to_stdout, bool *to_stderr, const char *format,
                       va_list arguments)
{
    char *text = NULL, *line = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    const struct stream *stream = find_locked(id);
    if (stream && stream->enabled && stream->verbosity >= level) {
        line = compose_locked(stream, text);
        *to_stdout = stream->to_stdout;
        *to_stderr = stream->to_stderr;
    }
    pthread_mutex_unlock(&lock);
    free(text);
    return line;
}

void opal_output_vverbose(int level, int id, const char *format, va_list arguments)
{
    bool to_stdout = false, to_stderr = false;
    int error = errno;
    char *line = make_line(id, level, &to_stdout, &to_stderr, format, arguments);
    if (line && to_stdout) {
        fflush(stdout); /* what the program printed before stands before */
        write_all(STDOUT_FILENO, line);
    }
    if (line && to_stderr) {
        write_all(STDERR_FILENO, line);
    }
    free(line);
    errno = error;
}

void opal_output_verbose(int level, int id, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    opal_output_vverbose(level, id, format, arguments);
    va_end(arguments);
}

void opal_output(int id, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    opal_output_vverbose(INT_MIN, id, format, arguments);
    va_end(arguments);
}

char *opal_output_string(int level, int id, const char *format, ...)
{
    bool to_stdout = false, to_stderr = false;
    va_list arguments;
    va_start(arguments, format);
    char *line = make_line(id, level, &to_stdout, &to_stderr, format, arguments);
    va_end(arguments);
    if (line) {
        line[strlen(line) - 1] = 0; /* without the newline */
    }
    return line;
}
