#include <config.h>

#include <launcher/pmix/finalize.h>

#include <base/data/clock.h>
#include <base/host/procstat.h>
#include <dirent.h>
#include <keel/types.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SHORT_LIFE_US = 1000000, /* in this time a thread that was ready has surely run */
    WAIT_MAX_US = 500000,    /* libpmix waits for the answer for 2 s */
    LOOK_AGAIN_US = 1000
};

struct finalize {
    struct list link;
    pid_t pid;
    uint64_t until_us;
    finalize_fn *answer;
    void *arg;
};

struct finalizes {
    struct loop_timer timer;
    struct list waiting;
};

/* --- processes --- */

/* The next entry that is a number, of a folder of processes or of threads; 0: there is none. */
static pid_t next_number(DIR *folder)
{
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
            return (pid_t) strtol(entry->d_name, NULL, 10);
        }
    }
    return 0;
}

static bool has_running_thread(pid_t pid, unsigned *threads)
{
    char path[32];
    struct procstat stat;
    bool running = false;
    snprintf(path, sizeof(path), "/proc/%d/task", (int) pid);
    DIR *folder = opendir(path);
    *threads = 0;
    if (!folder) {
        return false;
    }
    for (pid_t thread; !running && (thread = next_number(folder)) > 0;) {
        running = procstat_read(&stat, pid, thread) && stat.state == 'R';
        *threads += 1;
    }
    closedir(folder);
    return running;
}

static bool group_is_busy(pid_t leader)
{
    struct procstat stat;
    unsigned threads;
    bool busy = false;
    DIR *folder = opendir("/proc");
    if (!folder) {
        return false;
    }
    for (pid_t pid; !busy && (pid = next_number(folder)) > 0;) {
        busy = pid != leader && procstat_read(&stat, pid, 0) && stat.group == leader &&
               has_running_thread(pid, &threads);
    }
    closedir(folder);
    return busy;
}

bool process_is_busy(pid_t pid)
{
    unsigned threads;
    return has_running_thread(pid, &threads) || (threads == 1 && group_is_busy(pid));
}

/* --- answers --- */

static void settle(struct finalize *finalize)
{
    list_remove(&finalize->link);
    finalize->answer(finalize->arg);
    free(finalize);
}

static void look_again(struct loop_timer *timer)
{
    struct finalizes *finalizes = container_of(timer, struct finalizes, timer);
    struct finalize *finalize;
    uint64_t now = clock_us();
    list_for_each (finalize, &finalizes->waiting, struct finalize, link) {
        if (now >= finalize->until_us || !process_is_busy(finalize->pid)) {
            settle(finalize);
        }
    }
    if (!list_empty(&finalizes->waiting)) {
        loop_timer_start(timer, LOOK_AGAIN_US);
    }
}

int finalizes_create(struct finalizes **out, struct loop *loop)
{
    struct finalizes *finalizes = calloc(1, sizeof(*finalizes));
    if (!finalizes) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    loop_timer_init(&finalizes->timer, loop, look_again);
    list_init(&finalizes->waiting);
    *out = finalizes;
    return ORTE_SUCCESS;
}

void finalizes_destroy(struct finalizes *finalizes)
{
    struct finalize *finalize;
    if (!finalizes) {
        return;
    }
    loop_timer_stop(&finalizes->timer);
    list_for_each (finalize, &finalizes->waiting, struct finalize, link) {
        settle(finalize);
    }
    free(finalizes);
}

void finalizes_answer(struct finalizes *finalizes, pid_t pid, uint64_t since_us,
                      finalize_fn *answer, void *arg)
{
    uint64_t now = clock_us();
    struct finalize *finalize = NULL;
    if (pid > 0 && now - since_us < SHORT_LIFE_US && process_is_busy(pid)) {
        finalize = malloc(sizeof(*finalize));
    }
    if (!finalize) {
        answer(arg);
        return;
    }
    *finalize =
        (struct finalize){.pid = pid, .until_us = now + WAIT_MAX_US, .answer = answer, .arg = arg};
    list_append(&finalizes->waiting, &finalize->link);
    if (!finalizes->timer.started) {
        loop_timer_start(&finalizes->timer, LOOK_AGAIN_US);
    }
}
