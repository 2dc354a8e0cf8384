#include <config.h>

#include <launcher/pmix/connection/rendezvous.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char file_in_work[] = "rendezvous.new";

/* As libpmix calls a host. */
static void short_name(char *name, size_t size, const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    bool address = inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1;
    snprintf(name, size, "%.*s", (int) (address ? strlen(host) : strcspn(host, ".")), host);
}

/* The lines that libpmix writes: tools read the first two. */
static int write_lines(int fd, const struct rendezvous *rendezvous)
{
    char text[1024], date[32] = "";
    time_t now = time(NULL);
    int size = snprintf(text, sizeof(text), "%s.%u;tcp4://127.0.0.1:%u\n%s\n%d\n%u:%u\n%s\n",
                        rendezvous->nspace, rendezvous->rank, rendezvous->port, PMIX_SERVER_VERSION,
                        (int) getpid(), (unsigned) geteuid(), (unsigned) getegid(),
                        ctime_r(&now, date) ? date : "");
    if (size < 0 || (size_t) size >= sizeof(text)) {
        return -ENAMETOOLONG;
    }
    ssize_t written = write(fd, text, (size_t) size);
    return written == size ? 0 : written < 0 ? -errno : -ENOSPC;
}

static int write_file(int folder, const struct rendezvous *rendezvous)
{
    int fd =
        openat(folder, file_in_work, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -errno;
    }
    int error = write_lines(fd, rendezvous);
    return close(fd) == 0 || error != 0 ? error : -errno;
}

static int add_name(int folder, const char *host, const char *suffix)
{
    char name[NAME_MAX + 1];
    int size = snprintf(name, sizeof(name), "pmix.%s.tool%s", host, suffix);
    if (size < 0 || (size_t) size >= sizeof(name) || strchr(name, '/')) {
        return -EINVAL;
    }
    return linkat(folder, file_in_work, folder, name, 0) == 0 ? 0 : -errno;
}

static int add_names(int folder, const struct rendezvous *rendezvous)
{
    char host[NAME_MAX + 1], pid[32], nspace[NAME_MAX + 1];
    short_name(host, sizeof(host), rendezvous->host);
    snprintf(pid, sizeof(pid), ".%d", (int) getpid());
    snprintf(nspace, sizeof(nspace), ".%s", rendezvous->nspace);
    int error = add_name(folder, host, "");
    if (error == 0) {
        error = add_name(folder, host, pid);
    }
    return error == 0 ? add_name(folder, host, nspace) : error;
}

int rendezvous_write(const struct rendezvous *rendezvous)
{
    int folder = open(rendezvous->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) {
        return -errno;
    }
    int error = write_file(folder, rendezvous);
    if (error == 0) {
        error = add_names(folder, rendezvous);
    }
    unlinkat(folder, file_in_work, 0);
    close(folder);
    return error;
}
