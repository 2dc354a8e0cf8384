/* Between a daemon and the loadable module keel-pmix.so, which is all that touches libpmix.
 *
 * libpmix calls the module on its own thread; the module posts to the daemon's loop and calls the
 * daemon there. Answers go the other way from the loop. Statuses are PMIx's. */
#ifndef LAUNCHER_PMIX_PMIX_MODULE_H
#define LAUNCHER_PMIX_PMIX_MODULE_H

#include <base/loop/loop.h>
#include <pmix_common.h>
#include <sched.h>
#include <wireup/job_map.h>

#define PMIX_MODULE_FILE "keel-pmix.so"
#define PMIX_MODULE_ENTRY "keel_pmix_module"

/* The answer to a request: exactly once, on the loop; data is borrowed for the call. */
typedef void pmix_done_fn(void *arg, pmix_status_t status, const void *data, size_t size);

/* What one process does for others to find, or finds: value is a packed pmix_value_t. */
struct pmix_item {
    const char *key;
    const void *value;
    size_t size;
};

/* Who may find it, how long it stays. */
struct pmix_scope {
    pmix_data_range_t range;
    pmix_persistence_t persistence;
};

/* A program of a job, or one to be started. */
struct pmix_program {
    char *const *argv; /* NULL-ended */
    const char *wdir;  /* may be NULL */
    const char *path;  /* to be started: where to look for it first; may be NULL */
    char *const *env;  /* NULL-ended, may be NULL; to be started: on top of the job's */
    uint32_t count;    /* to be started: how many */
    char **info;       /* to be started: KEY=VALUE, where; NULL-ended, may be NULL */
};

/* A collective: those that differ in anything but the time do not meet. */
struct pmix_meeting {
    const char *purpose; /* a short word */
    const char *id;      /* of any text; "": none */
    const pmix_proc_t *procs;
    size_t count;
    uint64_t timeout_ms; /* 0: none */
};

/* What the daemon offers. post and log: any thread; the rest on the loop. Requests that have a
 * done function are answered through it in every case. */
struct pmix_host {
    void *arg;
    void (*post)(void *arg, struct loop_task *task);
    void (*log)(void *arg, bool error, const char *text);

    void (*connected)(void *arg, const pmix_proc_t *rank);
    /* answer: exactly once, when the rank may go on. */
    void (*finalized)(void *arg, const pmix_proc_t *rank, void (*answer)(void *), void *answer_arg);
    pmix_status_t (*abort)(void *arg, const pmix_proc_t *rank, int status, const char *reason);
    /* What all these processes' daemons bring, one behind the other, when all have brought theirs.
     */
    void (*gather)(void *arg, const struct pmix_meeting *meeting, const void *data, size_t size,
                   pmix_done_fn *done, void *done_arg);
    /* What a rank of another node has put. */
    void (*modex)(void *arg, const pmix_proc_t *rank, pmix_done_fn *done, void *done_arg);
    void (*publish)(void *arg, const pmix_proc_t *publisher, struct pmix_scope scope,
                    const struct pmix_item *items, size_t count, pmix_done_fn *done,
                    void *done_arg);
    /* The answer's data is read with pmix_found_next; wait: how many must be there (0: whatever is
     * there now); timeout in seconds (0: none). */
    void (*lookup)(void *arg, const pmix_proc_t *seeker, pmix_data_range_t range, char **keys,
                   uint32_t wait, uint32_t timeout_s, pmix_done_fn *done, void *done_arg);
    /* Whatever their ranges: a process publishes a key once at most. */
    void (*unpublish)(void *arg, const pmix_proc_t *publisher, char **keys, pmix_done_fn *done,
                      void *done_arg);
    /* More processes. The answer's data is their namespace, without an ending zero. */
    void (*spawn)(void *arg, const pmix_proc_t *parent, const struct pmix_program *programs,
                  size_t count, pmix_done_fn *done, void *done_arg);
    /* What these processes are doing: the answer's data is read with pmix_state_next. */
    void (*states)(void *arg, const pmix_proc_t *procs, size_t count, pmix_done_fn *done,
                   void *done_arg);
    /* PMIX_SUCCESS: one of them at least got it; SIGTERM also wakes those that are stopped. */
    void (*signal)(void *arg, const pmix_proc_t *procs, size_t count, int signal,
                   pmix_done_fn *done, void *done_arg);
    /* Text for the user, as if this process had written it; a tool's goes to standard error. */
    pmix_status_t (*write)(void *arg, const pmix_proc_t *proc, int stream, const char *text);
    /* A packed event for the processes of other nodes. */
    void (*notify)(void *arg, const void *event, size_t size);
};

/* A job, or what a job has spawned, as its ranks shall see it. Borrowed until the daemon ends. */
struct pmix_job {
    const char *nspace;
    const pmix_proc_t *parent; /* who spawned it; NULL: the user did */
    uint32_t first;            /* the number of its rank 0 among all ranks */
    const struct job_map *map;
    uint32_t daemon; /* mine: its ranks are the local ones */
    const char *node;
    const struct pmix_program *apps;
    uint32_t app_count;
    const uint32_t *app_of;  /* by rank */
    const char *const *cpus; /* by rank, the kernel's numbers; "": not bound */
    const char *folder;      /* for small files of the ranks */
    uint32_t universe;       /* processes that the nodes have slots for */
};

struct pmix_server {
    const char *nspace; /* of the servers; this one's rank is daemon */
    const char *tools;  /* what the namespaces of tools begin with */
    uint32_t daemon;
    const char *node, *folder;
    uid_t uid;
    gid_t gid;
};

/* What the module offers. */
struct pmix_module {
    /* Starts libpmix's server and registers the job; blocks for some milliseconds. Any thread. On
     * error everything is as before and the reason is written. */
    int (*start)(const struct pmix_host *host, const struct pmix_server *server,
                 const struct pmix_job *job, char *reason, size_t reason_size);
    /* On the loop, after start has returned: ranks that were spawned later. Blocks for less than a
     * millisecond. */
    int (*add_job)(const struct pmix_job *job, char *reason, size_t reason_size);
    /* The same; what a local rank has put, once it has. */
    void (*local_modex)(const pmix_proc_t *rank, pmix_done_fn *done, void *done_arg);
    /* An event that another daemon's processes sent. */
    void (*event)(const void *event, size_t size);
    /* A local rank ended by itself before its time: everybody is told. */
    void (*rank_failed)(const pmix_proc_t *rank);
    /* Ends the server; blocks. Nothing is called back any more. */
    void (*stop)(void);
};

typedef const struct pmix_module *pmix_module_entry(void);

/* --- the data of the answer about states --- */

struct pmix_state {
    uint32_t number; /* among all ranks */
    int32_t pid;     /* 0: not started */
    pmix_proc_state_t state;
    int32_t exit_code; /* once it has ended */
};

/* Takes the next entry from *data, moving it; false at the end. */
bool pmix_state_next(const uint8_t **data, size_t *size, struct pmix_state *state);
/* How many bytes an entry needs; writes it where to is not NULL. */
size_t pmix_state_put(uint8_t *to, const struct pmix_state *state);

/* --- the data of a lookup's answer --- */

struct pmix_found {
    pmix_proc_t publisher;
    const char *key;
    const void *value;
    size_t size;
};

/* Takes the next entry from *data, moving it; false at the end, or where the rest is malformed. */
bool pmix_found_next(const uint8_t **data, size_t *size, struct pmix_found *found);
/* How many bytes an entry needs; writes it where to is not NULL. */
size_t pmix_found_put(uint8_t *to, const struct pmix_found *found);

#endif
