#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <keel/keel.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <tools/ps/asked.h>
#include <unistd.h>

enum {
    AT_ONCE = 16,      /* processes */
    CODE_SILENT = 100, /* exit codes of them, besides 0 */
    CODE_FAILED = 101,
};
#define TEXT_MAX ((size_t) 256 << 20)

static int64_t now_ms(void)
{
    struct timespec now;
    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- in the process --- */

static int look(const struct asked *asked, const struct options *options)
{
    const struct show *show = options->json ? &show_json : &show_text;
    struct keel_options keel = KEEL_OPTIONS_DEFAULT;
    struct shown shown = {.out = stdout, .counters = options->counters};
    keel.contact = asked->contact;
    int status = keel_init(&keel);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    status = keel_tool_look(options->stacks, (uint32_t) (options->timeout_s * 1000), &show->look,
                            &shown);
    if (status == ORTE_SUCCESS) {
        show->end(&shown);
    }
    shown_fini(&shown);
    (void) keel_finalize();
    return status;
}

static __attribute__((noreturn)) void run(const struct asked *asked, const struct options *options,
                                          const int ends[ASKED_STREAMS])
{
    (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void) dup2(ends[0], STDOUT_FILENO);
    (void) dup2(ends[1], STDERR_FILENO);
    int status = look(asked, options);
    if (fflush(stdout) != 0) {
        status = ORTE_ERROR;
    }
    exit(status == ORTE_SUCCESS ? 0 : status == ORTE_ERR_TIMEOUT ? CODE_SILENT : CODE_FAILED);
}

/* --- around it --- */

static void start(struct asked *asked, const struct options *options)
{
    int pipes[ASKED_STREAMS][2] = {{-1, -1}, {-1, -1}}, ends[ASKED_STREAMS];
    bool made = pipe2(pipes[0], O_CLOEXEC) == 0 && pipe2(pipes[1], O_CLOEXEC) == 0;
    for (int i = 0; i < ASKED_STREAMS; i++) {
        asked->fds[i] = pipes[i][0];
        ends[i] = pipes[i][1];
    }
    pid_t process = made ? fork() : -1;
    if (process == 0) {
        run(asked, options, ends);
    }
    asked->process = process > 0 ? process : 0;
    asked->outcome = process > 0 ? OUTCOME_SILENT : OUTCOME_FAILED;
    for (int i = 0; i < ASKED_STREAMS; i++) {
        if (ends[i] >= 0) {
            close(ends[i]);
        }
    }
}

static void take_bytes(struct asked *asked, int stream)
{
    char bytes[65536];
    struct text *text = &asked->texts[stream];
    ssize_t got = read(asked->fds[stream], bytes, sizeof(bytes));
    char *longer =
        got > 0 && text->size < TEXT_MAX ? realloc(text->bytes, text->size + (size_t) got) : NULL;
    if (longer) {
        memcpy(longer + text->size, bytes, (size_t) got);
        text->bytes = longer;
        text->size += (size_t) got;
    } else if (got >= 0 || errno != EINTR) {
        close(asked->fds[stream]);
        asked->fds[stream] = -1;
    }
}

/* The streams that are open; their place in the list is that of the processes, twice. */
static size_t fill(struct pollfd *watch, const struct asked *list, size_t count)
{
    size_t open = 0;
    for (size_t i = 0; i < count * ASKED_STREAMS; i++) {
        watch[i] =
            (struct pollfd){.fd = list[i / ASKED_STREAMS].fds[i % ASKED_STREAMS], .events = POLLIN};
        open += watch[i].fd >= 0;
    }
    return open;
}

static void read_all(struct asked *list, size_t count, int64_t until_ms)
{
    struct pollfd watch[AT_ONCE * ASKED_STREAMS];
    int64_t left_ms;
    while (fill(watch, list, count) > 0 && (left_ms = until_ms - now_ms()) > 0) {
        int ready = poll(watch, count * ASKED_STREAMS, (int) left_ms);
        for (size_t i = 0; ready > 0 && i < count * ASKED_STREAMS; i++) {
            if (watch[i].fd >= 0 && watch[i].revents) {
                take_bytes(&list[i / ASKED_STREAMS], (int) (i % ASKED_STREAMS));
            }
        }
    }
}

/* One that has not closed its streams is not waited for any longer. */
static void end(struct asked *asked)
{
    int code = 0;
    bool open = false;
    for (int i = 0; i < ASKED_STREAMS; i++) {
        open = open || asked->fds[i] >= 0;
        if (asked->fds[i] >= 0) {
            close(asked->fds[i]);
            asked->fds[i] = -1;
        }
    }
    if (asked->process <= 0) {
        return;
    }
    if (open) {
        (void) kill(asked->process, SIGKILL);
    }
    while (waitpid(asked->process, &code, 0) < 0 && errno == EINTR) {
    }
    asked->process = 0;
    bool exited = WIFEXITED(code);
    asked->outcome = exited && WEXITSTATUS(code) == 0                       ? OUTCOME_ANSWERED
                     : open || (exited && WEXITSTATUS(code) == CODE_SILENT) ? OUTCOME_SILENT
                                                                            : OUTCOME_FAILED;
}

static void ask_some(struct asked *list, size_t count, const struct options *options)
{
    for (size_t i = 0; i < count; i++) {
        list[i].fds[0] = list[i].fds[1] = -1;
        if (list[i].contact) {
            start(&list[i], options);
        }
    }
    read_all(list, count, now_ms() + (int64_t) (options->timeout_s * 1000));
    for (size_t i = 0; i < count; i++) {
        end(&list[i]);
    }
}

void asked_all(struct asked *list, size_t count, const struct options *options)
{
    for (size_t i = 0; i < count; i += AT_ONCE) {
        ask_some(list + i, count - i < AT_ONCE ? count - i : AT_ONCE, options);
    }
}

void asked_fini(struct asked *asked)
{
    free(asked->id);
    free(asked->contact);
    for (int i = 0; i < ASKED_STREAMS; i++) {
        free(asked->texts[i].bytes);
    }
}
