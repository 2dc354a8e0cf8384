#include <config.h>

#include <base/net/sock.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/front/outfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, NAME_BYTES = 64 }; /* the longest path, and what is appended to DIR */

static int make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -errno;
}

/* Makes DIR and DIR/1. path: the latter; after an error the one that cannot be made. */
static int make_job_folder(char path[PATH_BYTES], const char *folder)
{
    size_t used = strlen(folder);
    snprintf(path, PATH_BYTES, "%s", folder);
    if (used + NAME_BYTES > PATH_BYTES) {
        return -ENAMETOOLONG;
    }
    int status = make_folder(path);
    if (status == 0) {
        sprintf(path + used, "/%u", OUTFILE_JOB);
        status = make_folder(path);
    }
    return status;
}

int outfile_open(const char *folder, uint32_t rank, int number)
{
    char path[PATH_BYTES];
    int status = make_job_folder(path, folder);
    char *end = path + strlen(path);
    if (status == 0) {
        sprintf(end, "/rank.%u", rank);
        status = make_folder(path);
    }
    if (status != 0) {
        return status;
    }
    sprintf(end, "/rank.%u/%s", rank, number == 1 ? "stdout" : "stderr");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return fd >= 0 ? fd : -errno;
}

/* Whether a file can be made in the folder; path: as before. */
static int try_folder(char *path)
{
    size_t used = strlen(path);
    strcpy(path + used, "/.keel-XXXXXX");
    int fd = mkostemp(path, O_CLOEXEC);
    int status = fd >= 0 ? 0 : -errno;
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    path[used] = '\0';
    return status;
}

/* Whether what an earlier job has left of a rank can be replaced; path: what cannot. */
static int try_rank(char *path, size_t used, unsigned rank)
{
    static const char *const names[] = {"stdout", "stderr"};
    sprintf(path + used, "/rank.%u", rank);
    bool writable = faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0;
    int status = writable || errno == ENOENT ? 0 : -errno; /* "rank.0.old" names none */
    for (size_t i = 0; i < 2 && status == 0; i++) {
        sprintf(path + used, "/rank.%u/%s", rank, names[i]);
        int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        status = fd >= 0 || errno == ENOENT ? 0 : -errno;
        fd_close(&fd);
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

int outfile_check(const char *folder, uint32_t ranks, char *reason, size_t reason_size)
{
    char path[PATH_BYTES];
    int status = make_job_folder(path, folder);
    if (status == 0) {
        status = try_folder(path);
    }
    if (status == 0) {
        status = try_old_ranks(path, ranks);
    }
    if (status != 0) {
        snprintf(reason, reason_size, "--output-filename: %s: %s", path, strerror(-status));
        return ORTE_ERR_FILE_OPEN_FAILURE;
    }
    return ORTE_SUCCESS;
}
