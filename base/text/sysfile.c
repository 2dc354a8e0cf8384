#include <config.h>

#include <base/host/sysfile.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool sysfile_line(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return got > 0;
}
