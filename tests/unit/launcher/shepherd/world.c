#include <config.h>

#include <base/data/clock.h>
#include <base/net/sock.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <tests/unit/launcher/shepherd/world.h>
#include <unistd.h>

static void on_started(void *arg, uint32_t id, pid_t pid, int fds[PROC_FDS])
{
    struct world *world = arg;
    struct world_proc *proc = &world->procs[id];
    ck_assert(!proc->started && !proc->failed);
    proc->started = true;
    proc->pid = pid;
    memcpy(proc->fds, fds, sizeof(proc->fds));
    world->started++;
}

static void on_failed(void *arg, uint32_t id, enum start_stage stage, int error)
{
    struct world *world = arg;
    struct world_proc *proc = &world->procs[id];
    ck_assert(!proc->started && !proc->failed);
    proc->failed = true;
    proc->stage = stage;
    proc->error = error;
    world->failed++;
}

static void on_exited(void *arg, uint32_t id, int wait_status, uint32_t peak_kib)
{
    ck_assert_uint_gt(peak_kib, 0);
    struct world *world = arg;
    struct world_proc *proc = &world->procs[id];
    ck_assert(proc->started && !proc->exited);
    proc->exited = true;
    proc->status = wait_status;
    world->exited++;
}

static void on_lost(void *arg)
{
    ((struct world *) arg)->lost = true;
}

static const struct shepherd_ops ops = {on_started, on_failed, on_exited, on_lost, NULL};

void world_open(struct world *world)
{
    world_open_with(world, NULL);
}

void world_open_with(struct world *world, int (*entry)(void))
{
    memset(world, 0, sizeof(*world));
    for (unsigned i = 0; i < WORLD_PROCS; i++) {
        memset(world->procs[i].fds, -1, sizeof(world->procs[i].fds));
    }
    ck_assert_int_eq(shepherd_start_with(&world->shepherd, entry), 0);
    ck_assert_int_eq(loop_create(&world->loop), ORTE_SUCCESS);
    world_attach(world);
}

void world_attach(struct world *world)
{
    ck_assert_int_eq(shepherd_attach(world->shepherd, world->loop, &ops, world), ORTE_SUCCESS);
}

void world_close(struct world *world)
{
    shepherd_end(world->shepherd);
    loop_destroy(world->loop);
    for (unsigned i = 0; i < WORLD_PROCS; i++) {
        for (int k = 0; k < PROC_FDS; k++) {
            fd_close(&world->procs[i].fds[k]);
        }
    }
}

void world_define_sh(struct world *world, uint32_t app, enum proc_kind kind, const char *script)
{
    char *argv[] = {(char *) "sh", (char *) "-c", (char *) (uintptr_t) script, NULL};
    struct start_app spec = {.kind = kind,
                             .program = "/bin/sh",
                             .argv = argv,
                             .env = environ,
                             .out = STDIO_PIPE,
                             .err = STDIO_INHERIT};
    shepherd_define_app(world->shepherd, app, &spec);
}

void world_start(struct world *world, uint32_t app, uint32_t id)
{
    struct start_proc proc = {.id = id, .in = STDIO_NULL};
    shepherd_start_proc(world->shepherd, app, &proc);
}

void world_run_until(struct world *world, const unsigned *counter, unsigned number, unsigned ms)
{
    uint64_t limit = clock_us() + ms * 1000u;
    while (*counter < number) {
        ck_assert_msg(clock_us() < limit, "%u of %u after %u ms", *counter, number, ms);
        loop_poll(world->loop);
        usleep(200);
    }
}

/* Reads what is there; false: the end, which on a pty is EIO. */
static bool read_more(struct world_proc *proc)
{
    struct pollfd wait = {.fd = proc->fds[1], .events = POLLIN};
    ck_assert_int_gt(poll(&wait, 1, 5000), 0);
    ssize_t got =
        read(proc->fds[1], proc->text + proc->text_size, sizeof(proc->text) - 1 - proc->text_size);
    ck_assert(got >= 0 || errno == EAGAIN || errno == EIO);
    proc->text_size += got > 0 ? (size_t) got : 0;
    proc->text[proc->text_size] = 0;
    return got > 0 || (got < 0 && errno == EAGAIN);
}

const char *world_read(struct world *world, uint32_t id)
{
    while (read_more(&world->procs[id])) {
    }
    return world->procs[id].text;
}

const char *world_read_line(struct world *world, uint32_t id)
{
    struct world_proc *proc = &world->procs[id];
    while (!strchr(proc->text, '\n')) {
        ck_assert(read_more(proc));
    }
    return proc->text;
}

bool gone_within(pid_t pid, unsigned ms)
{
    uint64_t limit = clock_us() + ms * 1000u;
    while (kill(pid, 0) == 0) {
        waitpid(pid, NULL, WNOHANG);
        if (clock_us() > limit) {
            return false;
        }
        usleep(1000);
    }
    return true;
}

bool missing_within(const char *path, unsigned ms)
{
    uint64_t limit = clock_us() + ms * 1000u;
    while (access(path, F_OK) == 0) {
        if (clock_us() > limit) {
            return false;
        }
        usleep(1000);
    }
    return true;
}
