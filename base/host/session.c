#include <config.h>

#include <base/host/session.h>

#include <base/data/crypto.h>
#include <base/text/reason.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, OPEN_TRIES = 3, ID_BYTES = 16, ID_TEXT = 2 * ID_BYTES + 1 };

bool session_is_job(const char *text)
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

/* Where sockets can be made: room for one's path. */
#define PATH_ROOM sizeof(((struct sockaddr_un *) NULL)->sun_path)

/* The folder that holds the jobs' folders, and the variable that moves it. */
struct place {
    char path[PATH_ROOM]; /* cut off where it is too long */
    size_t length;        /* of all of it */
    const char *variable;
};

static KEEL_PRINTF(2, 3) void place_print(struct place *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(place->path, sizeof(place->path), format, args);
    va_end(args);
    place->length = length < 0 ? 0 : (size_t) length;
}

enum owner { OWNER_NOBODY, OWNER_SELF, OWNER_OTHER };

static enum owner owner_of(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0) {
        return OWNER_NOBODY;
    }
    return st.st_uid == geteuid() ? OWNER_SELF : OWNER_OTHER;
}

/* In a folder where everybody may make folders another user can have taken our name. A job then has
 * a name that nobody else can know, made of its id; once it is there, the job's other processes
 * take it, too. */
static void choose_name(struct place *place, const char *tmp, const char *uuid)
{
    enum { DIGITS = 8, NAMES = ID_TEXT / DIGITS };
    unsigned uid = (unsigned) geteuid();
    for (int i = 0; i < NAMES; i++) {
        place_print(place, "%s/keel-%u-%.*s", tmp, uid, DIGITS, uuid + i * DIGITS);
        if (place->length < sizeof(place->path) && owner_of(place->path) == OWNER_SELF) {
            return;
        }
    }
    place_print(place, "%s/keel-%u", tmp, uid);
    for (int i = 0; i < NAMES && owner_of(place->path) == OWNER_OTHER; i++) {
        place_print(place, "%s/keel-%u-%.*s", tmp, uid, DIGITS, uuid + i * DIGITS);
    }
}

static const char *tmp_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    return is_folder(tmp) ? tmp : "/tmp";
}

static void choose_place(struct place *place, const char *uuid)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (own_folder(runtime)) {
        place->variable = "XDG_RUNTIME_DIR";
        place_print(place, "%s/keel", runtime);
    } else {
        place->variable = "TMPDIR";
        choose_name(place, tmp_folder(), uuid);
    }
}

void session_each_place(void (*fn)(void *arg, int dir, const char *name), void *arg)
{
    char name[32];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    bool in_runtime = own_folder(runtime);
    DIR *dir = opendir(in_runtime ? runtime : tmp_folder());
    if (!dir) {
        return;
    }
    snprintf(name, sizeof(name), "keel-%u", (unsigned) geteuid());
    struct stat st;
    bool taken = !in_runtime && fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                 st.st_uid != geteuid();
    if (!taken) {
        fn(arg, dirfd(dir), in_runtime ? "keel" : name);
    }
    size_t length = strlen(name);
    for (struct dirent *entry; taken && (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, name, length) == 0 && entry->d_name[length] == '-') {
            fn(arg, dirfd(dir), entry->d_name);
        }
    }
    closedir(dir);
}

/* Contact strings hold the paths of sockets: printable ASCII, and no semicolon. */
static bool fits_contact(const char *path)
{
    while (*path >= ' ' && *path <= '~' && *path != ';') {
        path++;
    }
    return !*path;
}

int session_path(char **out, const char *uuid, uint32_t vpid, char *reason, size_t reason_size)
{
    struct place place;
    char path[PATH_ROOM + ID_TEXT + 16];
    if (!session_is_job(uuid)) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size, "'%s' is not a job's id", uuid);
    }
    choose_place(&place, uuid);
    size_t length = place.length;
    if (length < sizeof(place.path)) {
        length = (size_t) snprintf(path, sizeof(path), "%s/%s/%u", place.path, uuid, vpid);
    }
    if (length + 1 + SESSION_NAME_MAX >= PATH_ROOM) {
        return reason_set(
            ORTE_ERR_VALUE_OUT_OF_BOUNDS, reason, reason_size,
            "the session folder's path is too long for sockets in it (%zu characters, "
            "at most %zu): set %s to a shorter one",
            length, PATH_ROOM - 2 - SESSION_NAME_MAX, place.variable);
    }
    if (!fits_contact(path)) {
        return reason_set(
            ORTE_ERR_BAD_PARAM, reason, reason_size,
            "the session folder's path has a ';', or a character that is not printable "
            "ASCII, which no contact string can hold: set %s to another folder",
            place.variable);
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
        return reason_set(-EPERM, reason, reason_size, "refused to use %s: it is %s", path,
                          error == EACCES ? "another user's" : "a link or a file, not a folder");
    }
    int rc = fstat(fd, &st);
    close(fd);
    if (rc < 0) {
        return -errno;
    }
    if (st.st_uid != geteuid()) {
        return reason_set(-EPERM, reason, reason_size,
                          "refused to use %s: it belongs to user %u, not to %u", path,
                          (unsigned) st.st_uid, (unsigned) geteuid());
    }
    if (st.st_mode & 077) {
        return reason_set(-EPERM, reason, reason_size,
                          "refused to use %s: its mode is %04o, others may enter (chmod 700 it)",
                          path, (unsigned) st.st_mode & 07777);
    }
    return 0;
}

/* Makes the three folders of which path is the last; fresh: that one must not be there yet. */
static int make_folders(const char *path, bool fresh, char *reason, size_t reason_size)
{
    char part[PATH_ROOM];
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

static int open_folder(const char *path, bool fresh, char *reason, size_t reason_size)
{
    /* Another job that ends at this moment may remove the folder above ours while it is empty. */
    int rc = -ENOENT;
    for (int tries = 0; tries < OPEN_TRIES && rc == -ENOENT; tries++) {
        rc = make_folders(path, fresh, reason, reason_size);
    }
    if (rc == 0) {
        return ORTE_SUCCESS;
    }
    if (rc == -EPERM) {
        return ORTE_ERR_PERM;
    }
    if (rc == -EEXIST) {
        return reason_set(ORTE_EXISTS, reason, reason_size, "the session folder %s exists already",
                          path);
    }
    return reason_set(ORTE_ERR_FILE_OPEN_FAILURE, reason, reason_size,
                      "cannot make the session folder %s: %s", path, strerror(-rc));
}

int session_open(const char *path, char *reason, size_t reason_size)
{
    return open_folder(path, true, reason, reason_size);
}

int session_share(char **out, const char *uuid, uint32_t node, char *reason, size_t reason_size)
{
    char *path;
    int status = session_path(&path, uuid, node, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = open_folder(path, false, reason, reason_size);
        if (status == ORTE_SUCCESS) {
            *out = path;
        } else {
            free(path);
        }
    }
    return status;
}

static int remove_content(int fd, dev_t device, unsigned depth);

/* What another process has removed meanwhile is removed: a job's folder, and a daemon's in it, may
 * each have somebody who removes it. */
static int unless_gone(int error)
{
    return error == ENOENT ? 0 : -error;
}

static int remove_entry(int dir, const char *name, dev_t device, unsigned depth)
{
    if (unlinkat(dir, name, 0) == 0) {
        return 0;
    }
    if (errno != EISDIR && errno != EPERM) {
        return unless_gone(errno);
    }
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return unless_gone(errno);
    }
    int rc = depth < DEPTH_MAX ? remove_content(fd, device, depth + 1) : -ELOOP;
    return rc == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 ? unless_gone(errno) : rc;
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

int folder_remove_at(int dir, const char *path)
{
    struct stat st;
    int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid()) {
        close(fd);
        return -EPERM;
    }
    int rc = remove_content(fd, st.st_dev, 0);
    return rc == 0 && unlinkat(dir, path, AT_REMOVEDIR) < 0 ? unless_gone(errno) : rc;
}

int folder_remove(const char *path)
{
    return folder_remove_at(AT_FDCWD, path);
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
    return slash && session_is_job(slash + 1);
}

/* A privileged user could remove another's. */
static void remove_own(const char *path)
{
    if (owner_of(path) == OWNER_SELF) {
        rmdir(path);
    }
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
        remove_own(above);
        job = true;
    }
    if (job && cut_last(above)) {
        remove_own(above);
    }
    free(above);
}

static void remove_matching(const char *pattern)
{
    glob_t found;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            folder_remove(found.gl_pathv[i]);
        }
        globfree(&found);
    }
}

void session_remove(const char *path)
{
    size_t size = strlen(path);
    if (size > 0 && path[size - 1] == '*') {
        remove_matching(path);
        return;
    }
    folder_remove(path);
    remove_above(path);
}

void session_leave(const char *path)
{
    if (owner_of(path) == OWNER_SELF && rmdir(path) == 0) {
        remove_above(path);
    }
}
