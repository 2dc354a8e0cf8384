/* keel-ps: this user's jobs, their nodes and their ranks. See keel-ps(1). */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tools/cli.h>
#include <tools/ps/asked.h>
#include <unistd.h>

enum { ENDING_MS = 500, ENDING_LOOK_MS = 10 };

struct jobs {
    const struct options *options; /* borrowed */
    struct asked *list;            /* owned */
    size_t count;
    bool lacks_memory;
};

static void add(void *arg, const struct keel_job *job)
{
    struct jobs *jobs = arg;
    if (!options_want(jobs->options, job->id)) {
        return;
    }
    struct asked *longer = realloc(jobs->list, (jobs->count + 1) * sizeof(*longer));
    if (!longer) {
        jobs->lacks_memory = true;
        return;
    }
    jobs->list = longer;
    longer[jobs->count++] = (struct asked){.id = strdup(job->id),
                                           .contact = job->contact ? strdup(job->contact) : NULL,
                                           .place = job->place};
}

static int by_id(const void *a, const void *b)
{
    const struct asked *left = a, *right = b;
    return strcmp(left->id, right->id);
}

static void still_here(void *arg, const struct keel_job *job)
{
    struct asked *asked = arg;
    if (strcmp(job->id, asked->id) == 0 && job->place == KEEL_JOB_HERE) {
        asked->place = KEEL_JOB_HERE;
    }
}

static bool is_gone(struct asked *asked)
{
    asked->place = KEEL_JOB_LEFT;
    keel_jobs_each(still_here, asked);
    return asked->place != KEEL_JOB_HERE;
}

/* One that could not be asked and is not there any more has just ended. What it is asked by goes
 * first, so one that failed to answer may be about to. */
static bool has_ended(struct asked *asked)
{
    const struct timespec nap = {.tv_nsec = ENDING_LOOK_MS * 1000000};
    if (!asked->contact || asked->outcome == OUTCOME_ANSWERED) {
        return false;
    }
    bool gone = is_gone(asked);
    for (int ms = 0; !gone && asked->outcome == OUTCOME_FAILED && ms < ENDING_MS;
         ms += ENDING_LOOK_MS) {
        nanosleep(&nap, NULL);
        gone = is_gone(asked);
    }
    return gone;
}

static const char *state_of(const struct asked *asked)
{
    return asked->place == KEEL_JOB_ELSEWHERE ? "its keelrun runs on another host"
           : !asked->contact                  ? "its keelrun is gone, and has left a session folder"
           : asked->outcome == OUTCOME_SILENT ? "its keelrun does not answer"
                                              : "its keelrun cannot be asked";
}

static void print(const struct show *show, const struct asked *asked)
{
    if (asked->contact && asked->outcome == OUTCOME_ANSWERED) {
        (void) fwrite(asked->texts[0].bytes, 1, asked->texts[0].size, stdout);
        return;
    }
    show->other(stdout, asked->id, state_of(asked));
    if (asked->contact && asked->outcome == OUTCOME_FAILED) {
        (void) fwrite(asked->texts[1].bytes, 1, asked->texts[1].size, stderr);
    }
}

/* Have all answered that could be asked? */
static bool print_all(struct jobs *jobs, const struct show *show)
{
    bool whole = !jobs->lacks_memory;
    const char *before = show->before;
    for (size_t i = 0; i < jobs->count; i++) {
        struct asked *asked = &jobs->list[i];
        if (has_ended(asked)) {
            continue;
        }
        fputs(before, stdout);
        before = show->between;
        print(show, asked);
        whole = whole && (!asked->contact || asked->outcome == OUTCOME_ANSWERED);
    }
    if (before == show->before) {
        printf("%s%s", before, show->none);
    }
    fputs(show->after, stdout);
    return whole;
}

/* False: some did not answer. */
static bool show_jobs(const struct options *options)
{
    struct jobs jobs = {.options = options};
    keel_jobs_each(add, &jobs);
    if (jobs.count > 0) {
        qsort(jobs.list, jobs.count, sizeof(*jobs.list), by_id);
    }
    asked_all(jobs.list, jobs.count, options);
    if (options->watch && !options->json && isatty(STDOUT_FILENO)) {
        fputs("\033[H\033[2J", stdout);
    }
    bool whole = print_all(&jobs, options->json ? &show_json : &show_text);
    for (size_t i = 0; i < jobs.count; i++) {
        asked_fini(&jobs.list[i]);
    }
    free(jobs.list);
    return whole;
}

static void rest(double seconds)
{
    struct timespec time = {(time_t) seconds, (long) ((seconds - (double) (time_t) seconds) * 1e9)};
    while (nanosleep(&time, &time) < 0 && errno == EINTR) {
    }
}

static int show(const struct options *options)
{
    bool whole = show_jobs(options);
    while (options->watch && fflush(stdout) == 0) {
        rest(options->watch_s);
        whole = show_jobs(options);
    }
    return whole ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct options options;
    int status = options_read(&options, argc, argv);
    int code = status < 0 ? 2 : status > 0 ? 0 : show(&options);
    options_free(&options);
    return cli_end("keel-ps", code);
}
