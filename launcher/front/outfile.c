#include <config.h>

#include <base/net/sock.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/front/outfile.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS_TRIED = 1024, NAME_BYTES = 64 }; /* the longest of what is appended to a folder */

/* ---- folders ---- */

/* Makes a folder and those above it. After an error path ends with the one that cannot be made. */
static int make_folders(char *path)
{
    for (char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char cut = *end;
        *end = '\0';
        if (*path && mkdir(path, 0777) < 0 && errno != EEXIST) {
            return -errno;
        }
        *end = cut;
    }
    return 0;
}

/* The folder that a path lies in, as far as it is named. "": the current one. */
static void cut_name(char *path)
{
    path[strcspn(path, "%")] = '\0';
    char *slash = strrchr(path, '/');
    path[slash ? slash - path + (slash == path) : 0] = '\0';
}

/* ---- before the launch ---- */

/* Whether a file can be made in the folder. */
static int try_folder(const char *path)
{
    char name[PATH_MAX + NAME_BYTES];
    snprintf(name, sizeof(name), "%s%s.keel-XXXXXX", path, *path ? "/" : "");
    int fd = mkostemp(name, O_CLOEXEC);
    int status = fd >= 0 ? 0 : -errno;
    if (fd >= 0) {
        close(fd);
        unlink(name);
    }
    return status;
}

/* Whether what an earlier job has left can be replaced. */
static int try_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    int status = fd >= 0 || errno == ENOENT ? 0 : -errno;
    fd_close(&fd);
    return status;
}

/* The same of a rank's folder; path: what cannot be. */
static int try_rank(char *path, size_t used, unsigned rank)
{
    static const char *const names[] = {"stdout", "stderr"};
    sprintf(path + used, "/rank.%u", rank);
    bool writable = faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0;
    int status = writable || errno == ENOENT ? 0 : -errno; /* "rank.0.old" names none */
    for (size_t i = 0; i < 2 && status == 0; i++) {
        sprintf(path + used, "/rank.%u/%s", rank, names[i]);
        status = try_file(path);
    }
    return status;
}

static int try_old_ranks(char *path, uint32_t ranks)
{
    size_t used = strlen(path);
    int status = 0;
    DIR *dir = opendir(path); /* NULL: they are tried when they are opened */
    for (struct dirent *entry; dir && status == 0 && (entry = readdir(dir)) != NULL;) {
        unsigned rank;
        if (sscanf(entry->d_name, "rank.%9u", &rank) == 1 && (ranks == 0 || rank < ranks)) {
            status = try_rank(path, used, rank);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return status;
}

/* The files of the first ranks, whose names are known. */
static int try_names(char path[PATH_MAX], const struct output_request *output, uint32_t ranks)
{
    int status = 0;
    uint32_t tried = ranks < RANKS_TRIED ? ranks : RANKS_TRIED;
    for (uint32_t i = 0; i < 2 * tried && status == 0; i++) {
        struct output_origin origin = {.rank = i / 2, .number = 1 + (int) i % 2};
        char *name = output_path(output, &origin);
        status = name ? try_file(name) : -ENOMEM;
        snprintf(path, PATH_MAX, "%s", name ? name : "");
        free(name);
    }
    return status;
}

/* path: after an error, what cannot be made or written. */
static int check(char path[PATH_MAX], const struct output_request *output, uint32_t ranks)
{
    bool folder = output->files == OUTPUT_FILES_DIR;
    snprintf(path, PATH_MAX, folder && !output->no_jobid ? "%s/%u" : "%s", output->path,
             OUTPUT_JOB);
    if (!folder) {
        cut_name(path);
    }
    int status = strlen(output->path) + NAME_BYTES > PATH_MAX ? -ENAMETOOLONG : make_folders(path);
    if (status == 0) {
        status = try_folder(path);
    }
    if (status == 0 && folder) {
        status = try_old_ranks(path, ranks);
    } else if (status == 0 && !output_needs_node(output)) {
        status = try_names(path, output, ranks);
    }
    return status;
}

int outfile_check(const struct output_request *output, uint32_t ranks, char *reason,
                  size_t reason_size)
{
    char path[PATH_MAX];
    int status = check(path, output, ranks);
    if (status != 0) {
        snprintf(reason, reason_size, "output files: %s: %s", *path ? path : ".",
                 strerror(-status));
        return ORTE_ERR_FILE_OPEN_FAILURE;
    }
    return ORTE_SUCCESS;
}

/* ---- files ---- */

static int open_empty(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
}

/* With the folders above it. A descriptor or -errno. */
static int open_below(char *path)
{
    int fd = open_empty(path);
    char *slash = strrchr(path, '/');
    if (fd < 0 && errno == ENOENT && slash && slash > path) {
        *slash = '\0';
        int status = make_folders(path);
        if (status < 0) {
            return status;
        }
        *slash = '/';
        fd = open_empty(path);
    }
    return fd >= 0 ? fd : -errno;
}

static struct outfile *find(struct list *all, const char *path)
{
    struct outfile *file;
    list_for_each (file, all, struct outfile, link) {
        if (strcmp(file->path, path) == 0) {
            return file;
        }
    }
    return NULL;
}

/* Takes the path. */
static int add(struct outfile **out, struct list *all, char *path)
{
    int fd = open_below(path), status = fd < 0 ? fd : -ENOMEM;
    struct outfile *file = fd >= 0 ? calloc(1, sizeof(*file)) : NULL;
    if (!file) {
        fd_close(&fd);
        free(path);
        return status;
    }
    *file = (struct outfile){.path = path, .fd = fd, .users = 1};
    list_append(all, &file->link);
    *out = file;
    return 0;
}

int outfile_open(struct outfile **out, struct list *all, const struct output_request *output,
                 const struct output_origin *origin)
{
    char *path = output_path(output, origin);
    if (!path) {
        return -ENOMEM;
    }
    struct outfile *file = output_is_shared(output) ? find(all, path) : NULL;
    if (!file) {
        return add(out, all, path);
    }
    free(path);
    file->users++;
    *out = file;
    return 0;
}

int outfile_close(struct outfile *file)
{
    if (!file || --file->users > 0) {
        return 0;
    }
    int status = close(file->fd) < 0 && errno != EINTR ? -errno : 0;
    list_remove(&file->link);
    free(file->path);
    free(file);
    return status;
}
