#include <config.h>

#include <launcher/standing/contact.h>

#include <base/net/sock.h>
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

static bool read_socket(int fd, char *path, size_t size)
{
    char text[CONTACT_MAX + 1];
    ssize_t got = read(fd, text, CONTACT_MAX);
    text[got > 0 ? got : 0] = '\0';
    return contact_socket(text, path, size);
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
    char path[sizeof(((struct sockaddr_un *) NULL)->sun_path)];
    struct sock_addr addr;
    int fd = open_own(file, reason, reason_size);
    if (fd < 0) {
        return -1;
    }
    bool found = read_socket(fd, path, sizeof(path));
    close(fd);
    if (!found || sock_addr_unix(&addr, path) != 0) {
        snprintf(reason, reason_size, "%s: not a file of keel-dvm", file);
        return -1;
    }
    int connected = connect_own(&addr);
    if (connected < 0) {
        snprintf(reason, reason_size, "the DVM that wrote %s is gone, or is on another host (%s)",
                 file, strerror(-connected));
        return -1;
    }
    return connected;
}
