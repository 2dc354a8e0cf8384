#include <config.h>

#include <launcher/pmix/starter.h>

#include <base/data/clock.h>
#include <base/host/paths.h>
#include <base/loop/handover.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <fcntl.h>
#include <launcher/pmix/connection/guard.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What libpmix and hwloc are told while they start. The storage must be the one the ranks were told
 * of; a rank's message has a limit; hwloc's plug-ins look for devices and take milliseconds. */
static const struct {
    const char *name, *value;
} settings[] = {
    {"PMIX_MCA_gds", "hash"},
    {"PMIX_MCA_psec", "native"},
    {"PMIX_MCA_ptl_base_max_msg_size", "64"}, /* MiB */
    {"HWLOC_PLUGINS_PATH", "/nonexistent"},
};
#define SETTINGS (sizeof(settings) / sizeof(*settings))

/* Low descriptors kept for libpmix, which cannot use those above FD_SETSIZE. */
enum { RESERVED = 16, RANKS_BELOW_LIMIT = 200 };

#define STOP_US 2000000u /* what libpmix's server gets to end */

struct starter {
    struct loop *loop;
    const struct pmix_host *host;
    const struct pmix_server *server;
    const struct pmix_job *job;
    starter_fn *done;
    void *arg;
    char *before[SETTINGS]; /* owned: the environment's values; NULL: not set */
    int reserved[RESERVED];
    size_t reserved_count;
    bool begun, joined;
    pthread_t thread;
    struct loop_task finished;
    const struct pmix_module *module; /* NULL: not started */
    char reason[256];
};

/* --- environment --- */

static void change_environment(struct starter *starter)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *value = getenv(settings[i].name);
        starter->before[i] = value ? strdup(value) : NULL;
        setenv(settings[i].name, settings[i].value, 1);
    }
}

static void restore_environment(struct starter *starter)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (starter->before[i]) {
            setenv(settings[i].name, starter->before[i], 1);
        } else {
            unsetenv(settings[i].name);
        }
        free(starter->before[i]);
        starter->before[i] = NULL;
    }
}

/* --- the thread --- */

static const struct pmix_module *load(struct starter *starter)
{
    void *entry =
        paths_load(PMIX_MODULE_FILE, PMIX_MODULE_ENTRY, starter->reason, sizeof(starter->reason));
    return entry ? ((pmix_module_entry *) entry)() : NULL;
}

static void release_descriptors(struct starter *starter)
{
    while (starter->reserved_count > 0) {
        close(starter->reserved[--starter->reserved_count]);
    }
}

static bool start_guarded(struct starter *starter, const struct pmix_module *module)
{
    release_descriptors(starter);
    if (fault_at("launcher.pmix").action == FAULT_ERROR) {
        snprintf(starter->reason, sizeof(starter->reason), "it is made to fail on purpose");
        return false;
    }
    guard_arm();
    int status = module->start(starter->host, starter->server, starter->job, starter->reason,
                               sizeof(starter->reason));
    bool guarded = guard_disarm();
    if (status == 0 && !guarded) {
        module->stop();
        snprintf(starter->reason, sizeof(starter->reason),
                 "libpmix's listener cannot be guarded in this program");
    }
    return status == 0 && guarded;
}

static void *run(void *arg)
{
    struct starter *starter = arg;
    mkdir(starter->server->folder, 0700); /* libpmix tells if it is not there */
    const struct pmix_module *module = load(starter);
    if (module && start_guarded(starter, module)) {
        starter->module = module;
    }
    starter->host->post(starter->host->arg, &starter->finished);
    return NULL;
}

static void join(struct starter *starter)
{
    if (starter->begun && !starter->joined) {
        pthread_join(starter->thread, NULL);
        restore_environment(starter);
        starter->joined = true;
    }
}

static void finished(struct loop_task *task)
{
    struct starter *starter = container_of(task, struct starter, finished);
    join(starter);
    starter->done(starter->arg, starter->module, starter->reason);
}

/* --- life --- */

static void reserve_descriptors(struct starter *starter)
{
    while (starter->job->map->size > RANKS_BELOW_LIMIT && starter->reserved_count < RESERVED) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            return;
        }
        starter->reserved[starter->reserved_count++] = fd;
    }
}

int starter_create(struct starter **out, struct loop *loop, int listener,
                   const struct pmix_host *host, const struct pmix_server *server,
                   const struct pmix_job *job, starter_fn *done, void *arg)
{
    struct starter *starter = calloc(1, sizeof(*starter));
    if (!starter) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *starter = (struct starter){.loop = loop,
                                .host = host,
                                .server = server,
                                .job = job,
                                .done = done,
                                .arg = arg,
                                .finished.run = finished};
    int error = guard_open(listener);
    if (error != 0) {
        free(starter);
        errno = -error;
        return ORTE_ERR_IN_ERRNO;
    }
    reserve_descriptors(starter);
    *out = starter;
    return ORTE_SUCCESS;
}

void starter_begin(struct starter *starter)
{
    if (starter->begun) {
        return;
    }
    starter->begun = true;
    change_environment(starter);
    int error = pthread_create(&starter->thread, NULL, run, starter);
    if (error != 0) {
        restore_environment(starter);
        starter->joined = true;
        snprintf(starter->reason, sizeof(starter->reason), "no thread: %s", strerror(error));
        loop_post(starter->loop, &starter->finished);
    }
}

static int run_stop(void *arg)
{
    const struct pmix_module *module = arg;
    module->stop();
    return ORTE_SUCCESS;
}

/* libpmix's own thread may be stuck with a rank's connection; the process ends anyway. */
static bool stop(const struct pmix_module *module)
{
    int status = handover_thread(run_stop, (void *) (uintptr_t) module, NULL, clock_us() + STOP_US);
    if (status == ORTE_ERR_OUT_OF_RESOURCE) {
        module->stop();
        return true;
    }
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_LAUNCHER, "libpmix's server does not end");
    }
    return status == ORTE_SUCCESS;
}

bool starter_end(struct starter *starter)
{
    if (!starter) {
        return true;
    }
    bool begun = starter->begun;
    join(starter);
    loop_cancel(starter->loop, &starter->finished);
    release_descriptors(starter);
    if (!starter->module || stop(starter->module)) {
        guard_close();
    }
    free(starter);
    return !begun;
}
