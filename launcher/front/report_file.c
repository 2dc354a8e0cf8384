#include <config.h>

#include <launcher/front/report_file.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int report_file_open(struct report_file *file, const struct run_request *request, char *reason,
                     size_t reason_size)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    *file = (struct report_file){.path = request->report_file, .fd = -1};
    if (!file->path) {
        return ORTE_SUCCESS;
    }
    file->fd = open(file->path, flags, 0666);
    if (file->fd < 0) {
        snprintf(reason, reason_size, "--report: %s: %s", file->path, strerror(errno));
        return ORTE_ERR_FILE_OPEN_FAILURE;
    }
    return ORTE_SUCCESS;
}

static void give_up(struct report_file *file, int error, char *reason, size_t reason_size)
{
    snprintf(reason, reason_size, "--report: %s: %s; the rest of the report is lost", file->path,
             strerror(error));
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->fd = -1;
}

bool report_file_write(struct report_file *file, const char *line, char *reason, size_t reason_size)
{
    static const char end[] = "\n";
    struct iovec parts[] = {{(void *) (uintptr_t) line, strlen(line)},
                            {(void *) (uintptr_t) end, 1}};
    if (file->fd < 0) {
        return true; /* it was told */
    }
    for (struct iovec *part = parts; part < parts + 2;) {
        ssize_t written = writev(file->fd, part, (int) (parts + 2 - part));
        if (written < 0 && errno != EINTR) {
            give_up(file, errno, reason, reason_size);
            return false;
        }
        for (; part < parts + 2 && written >= (ssize_t) part->iov_len; part++) {
            written -= (ssize_t) part->iov_len;
        }
        if (part < parts + 2 && written > 0) {
            part->iov_base = (char *) part->iov_base + written;
            part->iov_len -= (size_t) written;
        }
    }
    return true;
}

bool report_file_close(struct report_file *file, char *reason, size_t reason_size)
{
    int fd = file->fd;
    file->fd = -1;
    if (fd >= 0 && close(fd) != 0) {
        give_up(file, errno, reason, reason_size);
        return false;
    }
    return true;
}
