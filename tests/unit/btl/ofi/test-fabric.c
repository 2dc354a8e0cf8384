/* What opening a provider does to the process that opens it. */
#include <config.h>

#include <tests/lib/unit.h>

#include <btl/fabric/fabric_mr.h>
#include <btl/ofi/provider/fabric.h>
#include <btl/ofi/provider/leftovers.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct fabric_wanted tcp = {
    .provider = "tcp;ofi_rxm",
    .domain = "",
    .address = "127.0.0.1",
    .receives = 1,
};

static void on_signal(int number)
{
    (void) number;
}

static void open_tcp(struct fabric *fabric)
{
    char reason[300] = "";

    memset(fabric, 0, sizeof(*fabric));
    int status = ofi_fabric_open(fabric, &tcp, reason, sizeof(reason));
    ck_assert_msg(status == ORTE_SUCCESS, "%s", reason);
}

/* The libraries below libfabric would have them for backtraces. */
START_TEST(signals_stay_the_applications)
{
    static const int handled[] = {SIGTERM, SIGINT}, left[] = {SIGABRT, SIGILL, SIGBUS};
    struct fabric fabric;
    struct sigaction action;

    for (size_t i = 0; i < 2; i++) {
        ck_assert(signal(handled[i], on_signal) != SIG_ERR);
    }
    struct sigaction before[3];
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(sigaction(left[i], NULL, &before[i]), 0);
    }
    open_tcp(&fabric);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(sigaction(handled[i], NULL, &action), 0);
        ck_assert(action.sa_handler == on_signal);
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(sigaction(left[i], NULL, &action), 0);
        ck_assert(action.sa_handler == before[i].sa_handler);
    }
    fabric_close(&fabric);
}
END_TEST

UNIT_LOOP(the_environment_is_as_before, 0, 2)
{
    static const char *const names[] = {"FI_PROVIDER", "IPATH_NO_BACKTRACE"};
    struct fabric fabric;
    cpu_set_t before, after;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
    for (size_t i = 0; i < 2; i++) {
        if (_i == 1) {
            setenv(names[i], i == 0 ? "tcp,ofi_rxm" : "yes", 1);
        } else {
            unsetenv(names[i]);
        }
    }
    open_tcp(&fabric);
    fabric_close(&fabric);
    if (_i == 1) {
        ck_assert_str_eq(getenv(names[0]), "tcp,ofi_rxm");
        ck_assert_str_eq(getenv(names[1]), "yes");
    } else {
        ck_assert(!getenv(names[0]) && !getenv(names[1]));
    }
    ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
    ck_assert(CPU_EQUAL(&before, &after));
}
END_TEST

/* ---- registrations of an endpoint ---- */

/* No software provider wants FI_MR_ENDPOINT: here it looks as if this one did. */
static struct {
    struct fi_ops_mr *below;
    struct fi_ops *below_mr;
    struct fid *bound;
    int enabled, closed, fails;
} seam;

static int mr_close(struct fid *fid)
{
    seam.closed++;
    return seam.below_mr->close(fid);
}

static int mr_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    (void) fid;
    ck_assert(!seam.bound && !seam.enabled && flags == 0);
    seam.bound = to;
    return 0;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
    (void) fid, (void) arg;
    ck_assert(command == FI_ENABLE && seam.bound);
    seam.enabled++;
    return seam.fails;
}

static int mr_reg(struct fid *fid, const void *base, size_t size, uint64_t access, uint64_t offset,
                  uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    static struct fi_ops ops = {
        .size = sizeof(ops), .close = mr_close, .bind = mr_bind, .control = mr_control};
    int rc = seam.below->reg(fid, base, size, access, offset, key, flags, mr, context);

    ck_assert_int_eq(rc, 0);
    seam.below_mr = (*mr)->fid.ops;
    (*mr)->fid.ops = &ops;
    return 0;
}

UNIT_LOOP(registrations_are_bound_and_enabled, 0, 2)
{
    static unsigned char memory[4096];
    struct fi_ops_mr ops = {.size = sizeof(ops), .reg = mr_reg};
    struct fabric fabric;

    open_tcp(&fabric);
    seam.below = fabric.domain->mr;
    fabric.domain->mr = &ops;
    fabric.info->domain_attr->mr_mode |= FI_MR_ENDPOINT;
    seam.fails = _i == 0 ? 0 : -FI_EINVAL;
    struct fabric_mr *mr = fabric_mr_open(&fabric, memory, sizeof(memory), FI_READ, 1);
    ck_assert(seam.bound == &fabric.ep->fid && seam.enabled == 1);
    ck_assert((mr != NULL) == (_i == 0));
    if (mr) {
        fabric_mr_release(fabric_mr_hold(mr)); /* one user is left */
        ck_assert_int_eq(seam.closed, 0);
    }
    fabric_mr_release(mr);
    ck_assert_int_eq(seam.closed, 1);
    fabric.domain->mr = seam.below;
    fabric_close(&fabric);
}
END_TEST

/* ---- a full /dev/shm ---- */

/* In a mount namespace of this process's; false: it may not. */
static bool mount_shm(const char *options)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/dev/shm", "tmpfs", 0, options) == 0;
}

START_TEST(a_full_folder_is_named)
{
    const struct fabric_wanted shm = {
        .provider = "shm", .domain = "", .address = "", .receives = 1};
    struct fabric fabric = {0};
    char reason[300] = "";

    if (!mount_shm("size=1m")) {
        return;
    }
    ck_assert_int_eq(ofi_fabric_open(&fabric, &shm, reason, sizeof(reason)),
                     ORTE_ERR_NOT_AVAILABLE);
    fabric_close(&fabric);
    ck_assert_msg(strstr(reason, "\"shm\"") && strstr(reason, "/dev/shm") &&
                      strstr(reason, "room for 1024 KiB"),
                  "%s", reason);
}
END_TEST

START_TEST(a_file_is_made_as_a_whole_or_refused)
{
    struct stat status;

    if (!mount_shm("size=1m")) {
        return;
    }
    int fd = open("/dev/shm/file", O_CREAT | O_RDWR, 0600);
    ck_assert(fd >= 0 && ftruncate(fd, 512 << 10) == 0);
    ck_assert_int_eq(ofi_leftover_reserve("/dev/shm/file"), 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_blocks * 512, 512 << 10);
    ck_assert_uint_eq(ofi_leftover_room("/dev/shm"), 512 << 10);
    ck_assert_int_eq(ftruncate(fd, 2 << 20), 0);
    ck_assert_int_eq(ofi_leftover_reserve("/dev/shm/file"), ENOSPC);
    ck_assert_int_eq(ofi_leftover_reserve("/dev/shm/none"), ENOENT);
    close(fd);
}
END_TEST

int main(void)
{
    return unit_run("ofi-fabric", 60);
}
