#include <config.h>

#include <btl/ofi/provider/leftovers.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PREFIX "keel-ofi."

void ofi_leftover_name(char name[OFI_LEFTOVER_NAME], uint64_t space, pid_t pid)
{
    snprintf(name, OFI_LEFTOVER_NAME, PREFIX "%" PRIu64 ".%d", space, (int) pid);
}

/* A number without sign, and what follows it; false: there is none. */
static bool number(const char **at, uint64_t *value)
{
    char *end = NULL;

    if (**at < '0' || **at > '9') {
        return false;
    }
    errno = 0;
    *value = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0;
}

pid_t ofi_leftover_owner(const char *name, uint64_t space)
{
    const char *at = name + strlen(PREFIX);
    uint64_t found, pid;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !number(&at, &found) || found != space ||
        *at++ != '.' || !number(&at, &pid) || pid == 0 || pid > INT32_MAX) {
        return 0;
    }
    return *at == '\0' || *at == ':' ? (pid_t) pid : 0; /* libfabric adds ":user:number" */
}

uint64_t ofi_leftover_space(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t) status.st_ino : 0;
}

int ofi_leftover_reserve(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;

    if (fd < 0) {
        return errno;
    }
    int error = fstat(fd, &status) == 0 ? 0 : errno;
    if (error == 0 && status.st_size > 0) {
        error = posix_fallocate(fd, 0, status.st_size);
    }
    close(fd);
    return error;
}

uint64_t ofi_leftover_room(const char *folder)
{
    struct statvfs status;

    return statvfs(folder, &status) == 0 ? (uint64_t) status.f_bavail * status.f_frsize : 0;
}

static bool is_dead(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

unsigned ofi_leftovers_remove(const char *folder, uint64_t space)
{
    DIR *directory = space ? opendir(folder) : NULL;
    unsigned removed = 0;

    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        struct stat status;
        pid_t owner = ofi_leftover_owner(entry->d_name, space);
        if (owner > 0 && is_dead(owner) &&
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
            unlinkat(dirfd(directory), entry->d_name, 0) == 0) {
            removed++;
        }
    }
    if (directory) {
        closedir(directory);
    }
    return removed;
}
