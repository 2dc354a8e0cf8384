#include <config.h>

#include <base/session.h>

#include <base/crypto.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, OPEN_TRIES = 3, ID_BYTES = 16, ID_TEXT = 2 * ID_BYTES + 1 };

static KEEL_PRINTF(4, 5) int explain(int status, char *reason, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, size, format, args);
    va_end(args);
    return status;
}

static bool is_job_id(const char *text)
{
    uint8_t bits[ID_BYTES];
    return crypto_from_hex(bits, sizeof(bits), text) == ORTE_SUCCESS;
}

static bool own_folder(const char *path)
{
    struct stat st;
    return path && path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid();
}

static bool is_folder(const char *path)
{
    struct stat st;
    return path && path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder that holds the jobs' folders. */
static int jobs_folder(char *path, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (own_folder(runtime)) {
        return snprintf(path, size, "%s/keel", runtime);
    }
    const char *tmp = getenv("TMPDIR");
    return snprintf(path, size, "%s/keel-%u", is_folder(tmp) ? tmp : "/tmp", (unsigned) geteuid());
}

int session_path(char **out, const char *uuid, uint32_t vpid, char *reason, size_t reason_size)
{
    char jobs[sizeof(((struct sockaddr_un *) NULL)->sun_path)];
    char path[sizeof(jobs) + ID_TEXT + 16];
    if (!is_job_id(uuid)) {
        return explain(ORTE_ERR_BAD_PARAM, reason, reason_size, "'%s' is not a job's id", uuid);
    }
    int length = jobs_folder(jobs, sizeof(jobs));
    if (length > 0 && (size_t) length < sizeof(jobs)) {
        length = snprintf(path, sizeof(path), "%s/%s/%u", jobs, uuid, vpid);
    }
    if (length < 0 || (size_t) length + 1 + SESSION_NAME_MAX >= sizeof(jobs)) {
        return explain(ORTE_ERR_VALUE_OUT_OF_BOUNDS, reason, reason_size,
                       "the session folder's path is too long for sockets in it (%d characters, "
                       "at most %zu): set TMPDIR to a shorter one",
                       length, sizeof(jobs) - 2 - SESSION_NAME_MAX);
    }
    *out = strdup(path);
    return *out ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* Makes a folder, or finds it, and checks that it is ours alone. 0, -errno, or -EPERM with the
 * reason written. fresh: it must not be there yet. */
static int make_folder(const char *path, bool fresh, char *reason, size_t reason_size)
{
    struct stat st;
    if (mkdir(path, 0700) < 0 && (errno != EEXIST || fresh)) {
        return errno == EPERM ? -EACCES : -errno;
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        if (error != ELOOP && error != ENOTDIR && error != EACCES) {
            return -error;
        }
        return explain(-EPERM, reason, reason_size, "refused to use %s: it is %s", path,
                       error == EACCES ? "another user's" : "a link or a file, not a folder");
    }
    int rc = fstat(fd, &st);
    close(fd);
    if (rc < 0) {
        return -errno;
    }
    if (st.st_uid != geteuid()) {
        return explain(-EPERM, reason, reason_size,
                       "refused to use %s: it belongs to user %u, not to %u", path,
                       (unsigned) st.st_uid, (unsigned) geteuid());
    }
    if (st.st_mode & 077) {
        return explain(-EPERM, reason, reason_size,
                       "refused to use %s: its mode is %04o, others may enter (chmod 700 it)", path,
                       (unsigned) st.st_mode & 07777);
    }
    return 0;
}

/* Makes the three folders of which path is the last; fresh: that one must not be there yet. */
static int make_folders(const char *path, bool fresh, char *reason, size_t reason_size)
{
    char part[sizeof(((struct sockaddr_un *) NULL)->sun_path)];
    size_t ends[3] = {0, 0, strlen(path)};
    for (int i = 1; i >= 0; i--) {
        ends[i] = ends[i + 1];
        while (path[--ends[i]] != '/') {
        }
    }
    for (int i = 0; i < 3; i++) {
        snprintf(part, sizeof(part), "%.*s", (int) ends[i], path);
        int rc = make_folder(part, fresh && i == 2, reason, reason_size);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

static int open_folder(char **out, const char *uuid, uint32_t number, bool fresh, char *reason,
                       size_t reason_size)
{
    char *path;
    int rc = session_path(&path, uuid, number, reason, reason_size);
    if (rc != ORTE_SUCCESS) {
        return rc;
    }
    /* Another job that ends at this moment may remove the folder above ours while it is empty. */
    rc = -ENOENT;
    for (int tries = 0; tries < OPEN_TRIES && rc == -ENOENT; tries++) {
        rc = make_folders(path, fresh, reason, reason_size);
    }
    if (rc == 0) {
        *out = path;
        return ORTE_SUCCESS;
    }
    if (rc == -EPERM) {
        rc = ORTE_ERR_PERM;
    } else if (rc == -EEXIST) {
        rc =
            explain(ORTE_EXISTS, reason, reason_size, "the session folder %s exists already", path);
    } else {
        rc = explain(ORTE_ERR_FILE_OPEN_FAILURE, reason, reason_size,
                     "cannot make the session folder %s: %s", path, strerror(-rc));
    }
    free(path);
    return rc;
}

int session_open(char **path, const char *uuid, uint32_t vpid, char *reason, size_t reason_size)
{
    return open_folder(path, uuid, vpid, true, reason, reason_size);
}

int session_share(char **path, const char *uuid, uint32_t node, char *reason, size_t reason_size)
{
    return open_folder(path, uuid, node, false, reason, reason_size);
}

static int remove_content(int fd, dev_t device, unsigned depth);

static int remove_entry(int dir, const char *name, dev_t device, unsigned depth)
{
    if (unlinkat(dir, name, 0) == 0) {
        return 0;
    }
    if (errno != EISDIR && errno != EPERM) {
        return -errno;
    }
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int rc = depth < DEPTH_MAX ? remove_content(fd, device, depth + 1) : -ELOOP;
    return rc == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : rc;
}

/* Empties an open folder; takes the descriptor. */
static int remove_content(int fd, dev_t device, unsigned depth)
{
    struct stat st;
    int rc = 0;
    if (fstat(fd, &st) < 0 || st.st_dev != device) {
        close(fd);
        return -EXDEV;
    }
    DIR *dir = fdopendir(fd);
    if (!dir) {
        rc = -errno;
        close(fd);
        return rc;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            int one = remove_entry(fd, entry->d_name, device, depth);
            rc = one < 0 ? one : rc;
        }
    }
    closedir(dir);
    return rc;
}

int folder_remove(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid()) {
        close(fd);
        return -EPERM;
    }
    int rc = remove_content(fd, st.st_dev, 0);
    return rc == 0 && rmdir(path) < 0 ? -errno : rc;
}

/* Cuts the last part off a path; false: there is none. */
static bool cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path) {
        return false;
    }
    *slash = 0;
    return true;
}

static bool is_job_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && is_job_id(slash + 1);
}

/* JOB, and the folder above it. */
static void remove_above(const char *path)
{
    char *above = strdup(path);
    if (!above) {
        return;
    }
    bool job = is_job_folder(above); /* or a daemon's in it */
    if (!job && cut_last(above) && is_job_folder(above)) {
        rmdir(above);
        job = true;
    }
    if (job && cut_last(above)) {
        rmdir(above);
    }
    free(above);
}

void session_remove(const char *path)
{
    folder_remove(path);
    remove_above(path);
}

void session_leave(const char *path)
{
    if (rmdir(path) == 0) {
        remove_above(path);
    }
}
