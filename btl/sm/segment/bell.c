#include <config.h>

#include <base/host/barrier.h>
#include <base/net/sock.h>
#include <base/settings/fault.h>
#include <btl/sm/segment/bell.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the pipe that is number fd of a process. For reading, too: a pipe whose readers have gone
 * would end this process by a signal. The link's text is looked at first, for opening anything else
 * might block or do things. -1: it is not that pipe. */
static int open_pipe(uint32_t pid, uint32_t fd, uint64_t inode)
{
    char path[64], expected[64], target[64];
    snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, fd);
    int length = snprintf(expected, sizeof(expected), "pipe:[%llu]", (unsigned long long) inode);
    ssize_t got = readlink(path, target, sizeof(target));
    if (got != length || memcmp(target, expected, (size_t) length) != 0) {
        return -1;
    }
    int opened = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat found;
    if (opened >= 0 &&
        (fstat(opened, &found) < 0 || !S_ISFIFO(found.st_mode) || found.st_ino != inode)) {
        fd_close(&opened);
    }
    return opened;
}

/* Of a sender, for itself. */
static void see_the_owner(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

/* Of the owner, for all. */
static bool see_each_sender(const struct sm_alarm *alarm)
{
    atomic_thread_fence(memory_order_seq_cst);
    return alarm->fences || barrier_everywhere();
}

static bool has_barrier(void)
{
    return fault_at("btl.sm.barrier").action != FAULT_ERROR && barrier_everywhere();
}

int sm_bell_open(struct sm_bell *bell, struct sm_alarm *alarm, bool fences)
{
    const bool alone = !has_barrier();
    struct stat found;
    int ends[2];
    *bell = (struct sm_bell){.ends = {-1, -1}};
    if (alone && !fences) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int again = fstat(ends[1], &found) == 0
                    ? open_pipe((uint32_t) getpid(), (uint32_t) ends[1], found.st_ino)
                    : -1;
    if (again < 0) {
        close(ends[0]);
        close(ends[1]);
        return ORTE_ERR_NOT_SUPPORTED;
    }
    close(again);
    *bell = (struct sm_bell){.alarm = alarm, .ends = {ends[0], ends[1]}};
    alarm->fd = (uint32_t) ends[1];
    alarm->inode = found.st_ino;
    alarm->fences = alone;
    return ORTE_SUCCESS;
}

void sm_bell_close(struct sm_bell *bell)
{
    if (bell->alarm) {
        close(bell->ends[0]);
        close(bell->ends[1]);
    }
    *bell = (struct sm_bell){.ends = {-1, -1}};
}

int sm_bell_fd(const struct sm_bell *bell)
{
    return bell->alarm ? bell->ends[0] : ORTE_ERR_NOT_SUPPORTED;
}

void sm_bell_quiet(struct sm_bell *bell)
{
    char bytes[256];
    while (read(bell->ends[0], bytes, sizeof(bytes)) == (ssize_t) sizeof(bytes)) {
    }
}

int sm_bell_sleep(struct sm_bell *bell)
{
    _Atomic uint32_t *sleeps = &bell->alarm->sleeps;
    uint32_t next = atomic_load_explicit(sleeps, memory_order_relaxed) + 1;
    atomic_store_explicit(sleeps, next == 0 ? 1 : next, memory_order_relaxed);
    return see_each_sender(bell->alarm) ? ORTE_SUCCESS : ORTE_ERR_NOT_SUPPORTED;
}

void sm_ringer_init(struct sm_ringer *ringer, const struct sm_alarm *alarm, uint32_t pid)
{
    bool fences = !barrier_enlist() || alarm->fences;
    *ringer = (struct sm_ringer){.alarm = alarm, .pid = pid, .fences = fences, .fd = -1};
}

void sm_ringer_fini(struct sm_ringer *ringer)
{
    fd_close(&ringer->fd);
}

const _Atomic uint32_t *sm_ringer_word(const struct sm_ringer *ringer)
{
    static const _Atomic uint32_t always = 1;
    return ringer->fences ? &always : &ringer->alarm->sleeps;
}

uint32_t sm_ringer_hush(const struct sm_ringer *ringer)
{
    return ringer->fences ? 0 : ringer->rung;
}

void sm_ringer_ring(struct sm_ringer *ringer)
{
    see_the_owner();
    uint32_t sleeps = atomic_load_explicit(&ringer->alarm->sleeps, memory_order_acquire);
    if (sleeps == ringer->rung) {
        return;
    }
    if (ringer->fd < 0) {
        ringer->fd = open_pipe(ringer->pid, ringer->alarm->fd, ringer->alarm->inode);
    }
    /* A full pipe has been rung; without a descriptor the next message tries again. */
    if (ringer->fd >= 0 && (write(ringer->fd, "", 1) == 1 || errno == EAGAIN)) {
        ringer->rung = sleeps;
    }
}
