#include <config.h>

#include <base/host/leftovers.h>

#include <base/host/session.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_NAME "held.new"

static void hold_name(char name[NAME_MAX + 1])
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof(host) - 1);
    for (char *at = host; *at; at++) {
        *at = *at == '/' ? '_' : *at;
    }
    snprintf(name, NAME_MAX + 1, "held.%s", host);
}

/* --- holding --- */

static int hold_in(int dir)
{
    char name[NAME_MAX + 1];
    int fd = openat(dir, NEW_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -errno;
    }
    hold_name(name);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || renameat(dir, NEW_NAME, dir, name) < 0) {
        int error = errno;
        unlinkat(dir, NEW_NAME, 0);
        close(fd);
        return -error;
    }
    return fd;
}

int leftovers_hold(const char *session)
{
    int dir = open(session, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) {
        return -errno;
    }
    int fd = hold_in(dir);
    close(dir);
    return fd;
}

/* --- sweeping --- */

/* NULL: it is not a folder that this user alone may enter. */
static DIR *open_own(int dir, const char *name)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool own = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077);
    DIR *folder = own ? fdopendir(fd) : NULL;
    if (fd >= 0 && !folder) {
        close(fd);
    }
    return folder;
}

/* The file by which a daemon's folder is or was held: its descriptor, or -1. */
static int open_hold(int job, const char *vpid)
{
    char name[NAME_MAX + 1];
    DIR *folder = open_own(job, vpid);
    if (!folder) {
        return -1;
    }
    hold_name(name);
    int fd = openat(dirfd(folder), name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    closedir(folder);
    return fd;
}

/* Locks a folder that was held and is not any more. Returns the lock's descriptor, or -1. */
static int take_over(int job, const char *vpid)
{
    int fd = open_hold(job, vpid);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool is_number(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits > 0 && digits <= 10 && !name[digits];
}

/* True: the last folder of the job was removed. */
static bool sweep_job(int place, const char *name)
{
    bool swept = false;
    DIR *job = open_own(place, name);
    for (struct dirent *entry; job && (entry = readdir(job)) != NULL;) {
        int fd = is_number(entry->d_name) ? take_over(dirfd(job), entry->d_name) : -1;
        if (fd >= 0) {
            char shm[sizeof(SESSION_SHM) + 64];
            snprintf(shm, sizeof(shm), SESSION_SHM "%.32s-%.10s", name, entry->d_name);
            folder_remove(shm); /* first: it is found by the session folder */
            swept = folder_remove_at(dirfd(job), entry->d_name) == 0 || swept;
            close(fd);
        }
    }
    if (job) {
        closedir(job);
    }
    return swept && unlinkat(place, name, AT_REMOVEDIR) == 0;
}

/* Calls fn for each job in a place: the open place, and the job's name. */
static bool each_job(int dir, const char *name, bool (*fn)(void *arg, int place, const char *name),
                     void *arg)
{
    bool any = false;
    DIR *place = open_own(dir, name);
    for (struct dirent *entry; place && (entry = readdir(place)) != NULL;) {
        any = (session_is_job(entry->d_name) && fn(arg, dirfd(place), entry->d_name)) || any;
    }
    if (place) {
        closedir(place);
    }
    return any;
}

static bool sweep(void *arg, int place, const char *name)
{
    void (**over)(const char *job) = arg;
    bool swept = sweep_job(place, name);
    if (swept) {
        (*over)(name);
    }
    return swept;
}

static void sweep_place(void *arg, int dir, const char *name)
{
    if (each_job(dir, name, sweep, arg)) {
        unlinkat(dir, name, AT_REMOVEDIR);
    }
}

void leftovers_sweep(void (*over)(const char *job))
{
    session_each_place(sweep_place, &over);
}

/* --- looking --- */

struct look {
    leftovers_visit_fn *visit;
    void *arg;
};

static enum hold read_hold(int job, const char *vpid)
{
    int fd = open_hold(job, vpid);
    if (fd < 0) {
        return HOLD_NONE;
    }
    bool lives = flock(fd, LOCK_SH | LOCK_NB) < 0;
    close(fd);
    return lives ? HOLD_LIVES : HOLD_LEFT;
}

static bool look_at_job(void *arg, int place, const char *name)
{
    const struct look *look = arg;
    enum hold head = HOLD_NONE, others = HOLD_NONE;
    DIR *job = open_own(place, name);
    for (struct dirent *entry; job && (entry = readdir(job)) != NULL;) {
        enum hold *which = strcmp(entry->d_name, "0") == 0 ? &head : &others;
        enum hold one = is_number(entry->d_name) ? read_hold(dirfd(job), entry->d_name) : HOLD_NONE;
        *which = one > *which ? one : *which;
    }
    if (job) {
        closedir(job);
    }
    if (head != HOLD_NONE || others != HOLD_NONE) {
        look->visit(look->arg, name, head, others);
    }
    return false;
}

static void look_at_place(void *arg, int dir, const char *name)
{
    (void) each_job(dir, name, look_at_job, arg);
}

void leftovers_each(leftovers_visit_fn *visit, void *arg)
{
    session_each_place(look_at_place, &(struct look){visit, arg});
}
