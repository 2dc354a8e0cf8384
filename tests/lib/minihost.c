#include <config.h>

#include <base/data/clock.h>
#include <base/data/crypto.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tests/lib/minihost.h>
#include <unistd.h>

#define MAX_SIZE 16
#define MAX_CARDS 8
#define CARD_BYTES 65536
#define DEFAULT_TIMEOUT_MS 20000
#define BUSY_FACTOR 4u

struct card {
    char key[64];
    size_t size;
    unsigned char data[CARD_BYTES];
};

/* In memory shared by all processes of a run. */
struct common {
    atomic_uint arrived, round; /* the barrier */
    atomic_bool failed;
    char reason[512]; /* written by whoever sets failed first */
    atomic_int card_count[MAX_SIZE];
    struct card cards[MAX_SIZE][MAX_CARDS];
};

struct card_request {
    struct card_request *next;
    const opal_proc_t *peer;
    char key[64];
    keel_card_fn done;
    void *arg;
};

struct minihost_state {
    struct common *common;
    struct minihost_options options;
    pthread_mutex_t lock;          /* no callback runs with it held */
    struct card_request *requests; /* late cards; owned; guarded by the lock */
    char dir[64];
    char node_dir[96];
    char node_names[MAX_SIZE][16];
    uint8_t key[KEY_BYTES];
};

static const opal_proc_t *host_me(void *arg)
{
    struct minihost *host = arg;
    return &host->procs[host->rank];
}

static struct card *find_card(struct minihost *host, uint32_t rank, const char *key)
{
    struct common *common = host->state->common;
    int count = atomic_load(&common->card_count[rank]);
    for (int i = 0; i < count; i++) {
        if (strcmp(common->cards[rank][i].key, key) == 0) {
            return &common->cards[rank][i];
        }
    }
    return NULL;
}

static int host_put_card(void *arg, const char *key, const void *data, size_t size)
{
    struct minihost *host = arg;
    struct common *common = host->state->common;
    uint32_t rank = (uint32_t) host->rank;
    int count = atomic_load(&common->card_count[rank]);
    if (find_card(host, rank, key)) {
        return OPAL_EXISTS;
    }
    if (size > CARD_BYTES || count == MAX_CARDS || strlen(key) >= sizeof(common->cards[0][0].key)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct card *card = &common->cards[rank][count];
    strcpy(card->key, key);
    card->size = size;
    if (size > 0) {
        memcpy(card->data, data, size);
    }
    atomic_store(&common->card_count[rank], count + 1);
    return OPAL_SUCCESS;
}

static void answer_card(struct minihost *host, const opal_proc_t *peer, const char *key,
                        keel_card_fn done, void *arg)
{
    struct card *card = find_card(host, peer->proc_name.vpid, key);
    if (card) {
        done(arg, OPAL_SUCCESS, card->data, card->size);
    } else {
        done(arg, OPAL_ERR_NOT_FOUND, NULL, 0);
    }
}

static void host_get_card(void *host_arg, const opal_proc_t *peer, const char *key,
                          keel_card_fn done, void *arg)
{
    struct minihost *host = host_arg;
    if (!host->state->options.late_cards) {
        answer_card(host, peer, key, done, arg);
        return;
    }
    struct card_request *request = calloc(1, sizeof(*request));
    if (!request) {
        minihost_fail(host, "out of memory");
    }
    request->peer = peer;
    snprintf(request->key, sizeof(request->key), "%s", key);
    request->done = done;
    request->arg = arg;
    pthread_mutex_lock(&host->state->lock);
    request->next = host->state->requests;
    host->state->requests = request;
    pthread_mutex_unlock(&host->state->lock);
}

int minihost_progress(struct minihost *host)
{
    int answered = 0;
    pthread_mutex_lock(&host->state->lock);
    struct card_request *request = host->state->requests;
    host->state->requests = NULL;
    pthread_mutex_unlock(&host->state->lock);
    while (request) {
        struct card_request *next = request->next;
        answer_card(host, request->peer, request->key, request->done, request->arg);
        free(request);
        request = next;
        answered++;
    }
    return answered;
}

static int host_pair_key(void *arg, const orte_process_name_t *peer, const char *purpose,
                         uint8_t key[32])
{
    struct minihost *host = arg;
    uint32_t mine = (uint32_t) host->rank, other = peer->vpid;
    uint32_t names[2] = {mine < other ? mine : other, mine < other ? other : mine};
    const struct iovec parts[] = {
        {.iov_base = (void *) purpose, .iov_len = strlen(purpose)},
        {.iov_base = names, .iov_len = sizeof(names)},
    };
    crypto_mac(key, host->state->key, parts, 2);
    return OPAL_SUCCESS;
}

static const char *host_session_dir(void *arg)
{
    struct minihost *host = arg;
    return host->state->node_dir;
}

static int host_peek_card(void *arg, const opal_proc_t *peer, const char *key, const void **data,
                          size_t *size)
{
    struct minihost *host = arg;
    const struct card *card =
        host->state->options.late_cards ? NULL : find_card(host, peer->proc_name.vpid, key);
    if (!card) {
        return host->state->options.late_cards ? OPAL_ERR_NOT_AVAILABLE : OPAL_ERR_NOT_FOUND;
    }
    *data = card->data;
    *size = card->size;
    return OPAL_SUCCESS;
}

static int host_progress(void *arg)
{
    return minihost_progress(arg);
}

const struct keel_host_ops minihost_ops = {
    .me = host_me,
    .put_card = host_put_card,
    .get_card = host_get_card,
    .pair_key = host_pair_key,
    .session_dir = host_session_dir,
    .progress = host_progress,
    .peek_card = host_peek_card,
};

/* ---- a process without peers ---- */

opal_proc_t minihost_myself = {.proc_name = {7, 0}, .hostname = "here"};

static const opal_proc_t *alone_me(void *host)
{
    (void) host;
    return &minihost_myself;
}

static int alone_put_card(void *host, const char *key, const void *data, size_t size)
{
    (void) host, (void) key, (void) data, (void) size;
    return OPAL_SUCCESS;
}

static void alone_get_card(void *host, const opal_proc_t *peer, const char *key, keel_card_fn done,
                           void *arg)
{
    (void) host, (void) peer, (void) key;
    done(arg, OPAL_ERR_NOT_FOUND, NULL, 0);
}

static int alone_pair_key(void *host, const orte_process_name_t *peer, const char *purpose,
                          uint8_t key[32])
{
    (void) host, (void) peer, (void) purpose;
    memset(key, 1, 32);
    return OPAL_SUCCESS;
}

const struct keel_host_ops minihost_alone = {.me = alone_me,
                                             .put_card = alone_put_card,
                                             .get_card = alone_get_card,
                                             .pair_key = alone_pair_key};

/* ---- runs ---- */

static void report(struct common *common, const char *format, va_list args)
{
    char text[sizeof(common->reason)];
    vsnprintf(text, sizeof(text), format, args);
    if (!atomic_exchange(&common->failed, true)) {
        memcpy(common->reason, text, sizeof(text));
    }
}

static void report_run(struct common *common, const char *format, ...) KEEL_PRINTF(2, 3);
static void report_run(struct common *common, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(common, format, args);
    va_end(args);
}

void minihost_fail(struct minihost *host, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(host->state->common, format, args);
    va_end(args);
    _exit(EXIT_FAILURE);
}

void minihost_check(struct minihost *host)
{
    if (atomic_load(&host->state->common->failed)) {
        _exit(EXIT_FAILURE);
    }
}

void minihost_barrier(struct minihost *host, int (*progress)(void))
{
    struct common *common = host->state->common;
    unsigned round = atomic_load(&common->round);
    if (atomic_fetch_add(&common->arrived, 1) + 1 == (unsigned) host->size) {
        atomic_store(&common->arrived, 0);
        atomic_fetch_add(&common->round, 1);
        return;
    }
    while (atomic_load(&common->round) == round) {
        minihost_check(host);
        if (!progress || progress() == 0) {
            sched_yield();
        }
    }
}

static bool make_dirs(struct minihost_state *state)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(state->dir, sizeof(state->dir), "%.40s/keel-test-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(state->dir)) {
        return false;
    }
    for (int i = 0; i < state->options.nodes; i++) {
        snprintf(state->node_names[i], sizeof(state->node_names[i]), "node%d", i);
        snprintf(state->node_dir, sizeof(state->node_dir), "%s/%s", state->dir,
                 state->node_names[i]);
        if (mkdir(state->node_dir, 0700) != 0) {
            return false;
        }
    }
    return true;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void) status, (void) type, (void) walk;
    return remove(path);
}

/* The host's procs; ranks fill the nodes in blocks. */
static void make_procs(struct minihost_state *state, opal_proc_t *procs)
{
    int size = state->options.size, nodes = state->options.nodes;
    int per_node = (size + nodes - 1) / nodes;
    for (int i = 0; i < size; i++) {
        procs[i] = (opal_proc_t){
            .proc_name = {.jobid = 0x70001, .vpid = (orte_vpid_t) i},
            .node = (uint32_t) (i / per_node),
            .local_rank = (uint32_t) (i % per_node),
            .hostname = state->node_names[i / per_node],
        };
    }
}

struct run {
    struct minihost_state state;
    unsigned char *shared;
    int (*fn)(struct minihost *, void *);
    void *arg;
    pid_t pids[MAX_SIZE];
    int pidfds[MAX_SIZE]; /* -1: ended */
};

/* Into the rank's network namespace, where KEEL_TEST_NETWORKS names some. */
static void enter_network(struct run *run, int rank)
{
    const char *text = getenv("KEEL_TEST_NETWORKS");
    pid_t pids[MAX_SIZE];
    int count = 0, read = 0;
    char path[64];

    while (text && count < MAX_SIZE && sscanf(text, "%d%n", &pids[count], &read) == 1) {
        text += read;
        count++;
    }
    if (count == 0) {
        return;
    }
    snprintf(path, sizeof(path), "/proc/%d/ns/net", pids[rank % count]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
        report_run(run->state.common, "rank %d: %s: %s", rank, path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    close(fd);
}

static void run_rank(struct run *run, int rank)
{
    static opal_proc_t procs[MAX_SIZE];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    enter_network(run, rank);
    make_procs(&run->state, procs);
    snprintf(run->state.node_dir, sizeof(run->state.node_dir), "%s/%s", run->state.dir,
             procs[rank].hostname);
    struct minihost host = {
        .rank = rank,
        .size = run->state.options.size,
        .procs = procs,
        .shared = run->shared,
        .shared_size = MINIHOST_SHARED_PER_RANK * (size_t) run->state.options.size,
        .state = &run->state,
    };
    int result = run->fn(&host, run->arg);
    if (result != 0) {
        minihost_fail(&host, "rank %d returned %d", rank, result);
    }
    exit(EXIT_SUCCESS); /* not _exit: leaks are to be found */
}

static void reap(struct run *run, int rank)
{
    int status = 0;
    waitpid(run->pids[rank], &status, 0);
    close(run->pidfds[rank]);
    run->pidfds[rank] = -1;
    if (WIFSIGNALED(status)) {
        report_run(run->state.common, "rank %d was killed by signal %d", rank, WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        report_run(run->state.common, "rank %d exited with %d", rank, WEXITSTATUS(status));
    }
}

/* How long a process that is alive has waited for a processor; 0 where the kernel does not say. */
static uint64_t delay_us(pid_t pid)
{
    char path[64];
    unsigned long long ran_ns, delayed_ns = 0;
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int) pid);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%llu %llu", &ran_ns, &delayed_ns) != 2) {
            delayed_ns = 0;
        }
        fclose(file);
    }
    return delayed_ns / 1000;
}

/* On a busy machine the limit is later by what the rank that suffers most has waited for, but it is
 * not more than BUSY_FACTOR times as long. */
static uint64_t deadline_of(const struct run *run, uint64_t begin_us, uint64_t limit_us)
{
    uint64_t most = 0;
    for (int i = 0; i < run->state.options.size; i++) {
        uint64_t delay = run->pidfds[i] >= 0 ? delay_us(run->pids[i]) : 0;
        most = delay > most ? delay : most;
    }
    uint64_t longest = (BUSY_FACTOR - 1) * limit_us;
    return begin_us + limit_us + (most < longest ? most : longest);
}

/* Waits for the end of some; false: all have ended. */
static bool wait_some(struct run *run, int wait_ms)
{
    struct pollfd polled[MAX_SIZE];
    int left = 0;
    for (int i = 0; i < run->state.options.size; i++) {
        if (run->pidfds[i] >= 0) {
            polled[left++] = (struct pollfd){.fd = run->pidfds[i], .events = POLLIN};
        }
    }
    if (left == 0 || poll(polled, (nfds_t) left, wait_ms) <= 0) {
        return left > 0;
    }
    for (int i = 0; i < run->state.options.size; i++) {
        for (int p = 0; p < left; p++) {
            if (run->pidfds[i] == polled[p].fd && polled[p].revents) {
                reap(run, i);
                break;
            }
        }
    }
    return true;
}

/* Reaps what ends until all have ended or the time is over. */
static void wait_all(struct run *run, uint64_t limit_us)
{
    uint64_t begin = clock_us(), now = begin, deadline = begin + limit_us;
    while (now < deadline && wait_some(run, (int) ((deadline - now) / 1000) + 1)) {
        now = clock_us();
        if (now >= deadline) {
            deadline = deadline_of(run, begin, limit_us);
        }
    }
}

static void kill_rest(struct run *run)
{
    for (int i = 0; i < run->state.options.size; i++) {
        if (run->pidfds[i] >= 0) {
            report_run(run->state.common, "rank %d did not end in time", i);
            kill(run->pids[i], SIGKILL);
            reap(run, i);
        }
    }
}

static void fork_all(struct run *run)
{
    fflush(NULL);
    for (int i = 0; i < run->state.options.size; i++) {
        run->pidfds[i] = -1;
        pid_t pid = atomic_load(&run->state.common->failed) ? -1 : fork();
        if (pid == 0) {
            run_rank(run, i);
        }
        run->pids[i] = pid;
        if (pid > 0) {
            run->pidfds[i] = pidfd_open(pid, 0);
        } else {
            report_run(run->state.common, "fork: %s", strerror(errno));
        }
    }
}

bool minihost_run(const struct minihost_options *options, int (*fn)(struct minihost *, void *),
                  void *arg, char *reason, size_t reason_size)
{
    static struct run run;
    memset(&run, 0, sizeof(run));
    run.state.options = *options;
    pthread_mutex_init(&run.state.lock, NULL);
    run.fn = fn;
    run.arg = arg;
    if (options->nodes == 0) {
        run.state.options.nodes = 1;
    }
    size_t shared_size = MINIHOST_SHARED_PER_RANK * (size_t) options->size;
    size_t common_size = (sizeof(struct common) + 4095) & ~(size_t) 4095;
    unsigned char *memory = mmap(NULL, shared_size + common_size, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || options->size > MAX_SIZE || crypto_open() != ORTE_SUCCESS ||
        !make_dirs(&run.state)) {
        snprintf(reason, reason_size, "no memory or folder for the run: %s", strerror(errno));
        return false;
    }
    run.state.common = (struct common *) (void *) (memory + shared_size);
    run.shared = memory;
    crypto_random(run.state.key, sizeof(run.state.key));
    unsigned timeout_ms = options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
    fork_all(&run);
    wait_all(&run, timeout_ms * 1000ull);
    kill_rest(&run);
    nftw(run.state.dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    bool ok = !atomic_load(&run.state.common->failed);
    if (!ok) {
        snprintf(reason, reason_size, "%s", run.state.common->reason);
    }
    munmap(memory, shared_size + common_size);
    return ok;
}
