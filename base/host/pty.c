#include <config.h>

#include <base/host/pty.h>
#include <base/net/sock.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* A terminal that passes bytes on as they are. */
static int make_raw(int fd)
{
    struct termios mode;
    if (tcgetattr(fd, &mode) < 0) {
        return -errno;
    }
    cfmakeraw(&mode);
    return tcsetattr(fd, TCSANOW, &mode) < 0 ? -errno : 0;
}

/* TIOCGPTPEER needs no path below /dev/pts, which may belong to another mount. */
int pty_open(struct window window, int *ours, int *theirs)
{
    int unlocked = 0;
    int peer = -1;
    int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    int rc = fd < 0 || ioctl(fd, TIOCSPTLCK, &unlocked) < 0 ? -errno : 0;
    if (rc == 0) {
        peer = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        rc = peer < 0 ? -errno : make_raw(peer);
    }
    if (rc < 0) {
        fd_close(&peer);
        fd_close(&fd);
        return rc;
    }
    pty_resize(fd, window);
    *ours = fd;
    *theirs = peer;
    return 0;
}

void pty_resize(int fd, struct window window)
{
    struct winsize size = {.ws_row = window.rows, .ws_col = window.columns};
    (void) ioctl(fd, TIOCSWINSZ, &size);
}

bool window_make(struct window *window, uint32_t rows, uint32_t columns)
{
    if (rows > UINT16_MAX || columns > UINT16_MAX) {
        return false;
    }
    *window = (struct window){(uint16_t) rows, (uint16_t) columns};
    return true;
}

struct window pty_window(void)
{
    static const int fds[] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};
    struct winsize size = {0};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        if (ioctl(fds[i], TIOCGWINSZ, &size) == 0) {
            break;
        }
    }
    return (struct window){size.ws_row, size.ws_col};
}
