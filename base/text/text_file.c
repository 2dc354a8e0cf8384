#include <config.h>

#include <base/text/text_file.h>

#include <base/data/clock.h>
#include <base/text/await.h>
#include <base/text/reason.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What poll says of a FIFO that nobody has opened for writing is nothing, and of one whose writers
 * have gone that it can be read; a read says of both that it is at its end. So it comes second. */
int text_file_fill(int fd, char *text, size_t max, size_t *used, uint64_t deadline_us)
{
    struct pollfd waits = {.fd = fd, .events = POLLIN};
    while (*used < max) {
        if (deadline_us && !await_ready(&waits, deadline_us)) {
            return ETIMEDOUT;
        }
        ssize_t got = read(fd, text + *used, max - *used);
        if (got == 0) {
            break;
        }
        if (got < 0 && errno != EINTR && errno != EAGAIN) {
            return errno;
        }
        *used += got > 0 ? (size_t) got : 0;
    }
    return 0;
}

static int read_open(char **text, size_t *size, int fd, size_t max, unsigned (*limit_ms)(void),
                     char *why, size_t why_size)
{
    struct stat st;
    if (fstat(fd, &st) < 0 ||
        !(S_ISREG(st.st_mode) || (limit_ms && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))))) {
        return reason_set(ORTE_ERR_FILE_READ_FAILURE, why, why_size, "not a regular file");
    }
    unsigned limit = S_ISREG(st.st_mode) ? 0 : limit_ms();
    size_t used = 0;
    char *bytes = malloc(max + 1);
    if (!bytes) {
        return reason_set(ORTE_ERR_OUT_OF_RESOURCE, why, why_size, "out of memory");
    }
    uint64_t deadline_us = limit ? clock_us() + (uint64_t) limit * 1000u : 0;
    int error = text_file_fill(fd, bytes, max + 1, &used, deadline_us);
    if (error == ETIMEDOUT) {
        snprintf(why, why_size, "%s within %g s",
                 used ? "it has not ended" : "nobody has written anything to it", limit / 1000.0);
    } else if (error) {
        snprintf(why, why_size, "%s", strerror(error));
    } else if (used > max) {
        snprintf(why, why_size, "larger than %zu MiB", max >> 20);
    }
    if (error || used > max) {
        free(bytes);
        return ORTE_ERR_FILE_READ_FAILURE;
    }
    bytes[used] = '\0';
    *text = bytes;
    *size = used;
    return ORTE_SUCCESS;
}

int text_file_read(char **text, size_t *size, const char *path, size_t max,
                   unsigned (*limit_ms)(void), char *reason, size_t reason_size)
{
    char why[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int error = errno;
        snprintf(reason, reason_size, "%s: %s", path, strerror(error));
        errno = error;
        return ORTE_ERR_FILE_OPEN_FAILURE;
    }
    int status = read_open(text, size, fd, max, limit_ms, why, sizeof(why));
    close(fd);
    return status == ORTE_SUCCESS ? status
                                  : reason_set(status, reason, reason_size, "%s: %s", path, why);
}
