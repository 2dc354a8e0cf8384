#include <config.h>

#include <base/text/sysfile.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool sysfile_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = fd < 0 ? 0 : 1;
    while (got != 0 && used < size - 1) {
        got = read(fd, text + used, size - 1 - used);
        if (got < 0 && errno != EINTR) {
            break;
        }
        used += got > 0 ? (size_t) got : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    text[used] = '\0';
    return used > 0;
}

bool sysfile_line(const char *path, char *text, size_t size)
{
    bool any = sysfile_text(path, text, size);
    text[strcspn(text, "\n")] = '\0';
    return any;
}
