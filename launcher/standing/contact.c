#include <config.h>

#include <launcher/standing/contact.h>

#include <base/host/hostname.h>
#include <base/net/sock.h>
#include <base/text/reason.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/standing/talk.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CONTACT_MAX 4096u

const char *contact_file(const char *text)
{
    static const char prefix[] = "file:";
    return strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : text;
}

bool contact_socket(const char *contact, char *path, size_t size)
{
    static const char scheme[] = ";unix://", name[] = "/oob";
    const char *at = strstr(contact, scheme);
    size_t length = at ? strcspn(at + strlen(scheme), ";\n") : 0;
    size_t end = strlen(name);
    if (length <= end || at[strlen(scheme)] != '/' ||
        strncmp(at + strlen(scheme) + length - end, name, end) != 0) {
        return false;
    }
    int wanted =
        snprintf(path, size, "%.*s/" TALK_SOCKET, (int) (length - end), at + strlen(scheme));
    return wanted > 0 && (size_t) wanted < size;
}

/* Opens a file that only this user can have written. */
static int open_own(const char *file, char *reason, size_t reason_size)
{
    struct stat status;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        snprintf(reason, reason_size, "%s: %s", file, strerror(errno));
        return -1;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        snprintf(reason, reason_size, "%s: not a file of keel-dvm", file);
    } else if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH))) {
        snprintf(reason, reason_size, "%s: others than this user may have written it", file);
    } else {
        return fd;
    }
    close(fd);
    return -1;
}

bool contact_host(const char *text, char *host, size_t size)
{
    const char *line = strchr(text, '\n');
    size_t length = line ? strcspn(line + 1, "\n") : 0;
    if (length == 0 || length >= size) {
        return false;
    }
    snprintf(host, size, "%.*s", (int) length, line + 1);
    reason_printable(host);
    return true;
}

/* Who has written a URI file. */
struct writer {
    struct sock_addr addr;
    char host[256];
};

/* False: reason says why not. */
static bool read_writer(struct writer *writer, const char *file, char *reason, size_t reason_size)
{
    char text[CONTACT_MAX + 1], path[sizeof(((struct sockaddr_un *) NULL)->sun_path)];
    int fd = open_own(file, reason, reason_size);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, text, CONTACT_MAX);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    bool found = contact_socket(text, path, sizeof(path)) &&
                 contact_host(text, writer->host, sizeof(writer->host)) &&
                 sock_addr_unix(&writer->addr, path) == 0;
    if (!found) {
        snprintf(reason, reason_size, "%s: not a file of keel-dvm", file);
    }
    return found;
}

static bool is_here(const struct writer *writer)
{
    char own[256];
    host_name(own, sizeof(own));
    return host_same(writer->host, own);
}

/* The kernel says whose the other end is. */
static int connect_own(const struct sock_addr *addr)
{
    uid_t uid = (uid_t) -1;
    pid_t pid;
    int fd = sock_connect(addr);
    int error = fd < 0 ? fd : sock_peer(fd, &uid, &pid);
    error = error == 0 && uid != geteuid() ? -EPERM : error;
    if (error < 0) {
        fd_close(&fd);
    }
    return error < 0 ? error : fd;
}

int contact_connect(const char *file, char *reason, size_t reason_size)
{
    struct writer writer;
    if (!read_writer(&writer, file, reason, reason_size)) {
        return -1;
    }
    int connected = connect_own(&writer.addr);
    if (connected >= 0) {
        return connected;
    }
    if (is_here(&writer)) {
        snprintf(reason, reason_size, "the DVM that wrote %s is gone (%s)", file,
                 strerror(-connected));
    } else {
        snprintf(reason, reason_size, "the DVM that wrote %s is on host %s", file, writer.host);
    }
    return -1;
}

bool contact_is_free(const char *file, char *reason, size_t reason_size)
{
    struct stat old;
    struct writer writer;
    if (lstat(file, &old) != 0 ? errno == ENOENT : S_ISREG(old.st_mode) && old.st_size == 0) {
        return true;
    }
    if (!read_writer(&writer, file, reason, reason_size)) {
        return false;
    }
    int connected = connect_own(&writer.addr);
    bool gone = connected == -ENOENT || connected == -ECONNREFUSED;
    fd_close(&connected);
    if (!gone) {
        snprintf(reason, reason_size, "%s: the DVM that wrote it stands (keel-dvm --stop ends it)",
                 file);
    } else if (!is_here(&writer)) {
        snprintf(reason, reason_size,
                 "%s: whether the DVM that wrote it stands is known on host %s alone: end it there "
                 "(keel-dvm --stop), or remove the file when it is gone",
                 file, writer.host);
    }
    return gone && is_here(&writer);
}
