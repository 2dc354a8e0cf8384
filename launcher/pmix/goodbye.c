#include <config.h>

#include <launcher/pmix/goodbye.h>

#include <base/clock.h>
#include <base/procstat.h>
#include <dirent.h>
#include <keel/types.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SHORT_LIFE_US = 1000000, /* in this time a thread that was ready has surely run */
    WAIT_MAX_US = 500000,    /* libpmix waits for the answer for 2 s */
    LOOK_AGAIN_US = 1000
};

struct goodbye {
    struct list link;
    pid_t pid;
    uint64_t until_us;
    goodbye_fn *answer;
    void *arg;
};

struct goodbyes {
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

/* --- goodbyes --- */

static void settle(struct goodbye *goodbye)
{
    list_remove(&goodbye->link);
    goodbye->answer(goodbye->arg);
    free(goodbye);
}

static void look_again(struct loop_timer *timer)
{
    struct goodbyes *goodbyes = container_of(timer, struct goodbyes, timer);
    struct goodbye *goodbye;
    uint64_t now = clock_us();
    list_for_each (goodbye, &goodbyes->waiting, struct goodbye, link) {
        if (now >= goodbye->until_us || !process_is_busy(goodbye->pid)) {
            settle(goodbye);
        }
    }
    if (!list_empty(&goodbyes->waiting)) {
        loop_timer_start(timer, LOOK_AGAIN_US);
    }
}

int goodbyes_create(struct goodbyes **out, struct loop *loop)
{
    struct goodbyes *goodbyes = calloc(1, sizeof(*goodbyes));
    if (!goodbyes) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    loop_timer_init(&goodbyes->timer, loop, look_again);
    list_init(&goodbyes->waiting);
    *out = goodbyes;
    return ORTE_SUCCESS;
}

void goodbyes_destroy(struct goodbyes *goodbyes)
{
    struct goodbye *goodbye;
    if (!goodbyes) {
        return;
    }
    loop_timer_stop(&goodbyes->timer);
    list_for_each (goodbye, &goodbyes->waiting, struct goodbye, link) {
        settle(goodbye);
    }
    free(goodbyes);
}

void goodbyes_say(struct goodbyes *goodbyes, pid_t pid, uint64_t since_us, goodbye_fn *answer,
                  void *arg)
{
    uint64_t now = clock_us();
    struct goodbye *goodbye = NULL;
    if (pid > 0 && now - since_us < SHORT_LIFE_US && process_is_busy(pid)) {
        goodbye = malloc(sizeof(*goodbye));
    }
    if (!goodbye) {
        answer(arg);
        return;
    }
    *goodbye =
        (struct goodbye){.pid = pid, .until_us = now + WAIT_MAX_US, .answer = answer, .arg = arg};
    list_append(&goodbyes->waiting, &goodbye->link);
    if (!goodbyes->timer.started) {
        loop_timer_start(&goodbyes->timer, LOOK_AGAIN_US);
    }
}
