/* Ptys for what ranks print: bytes pass as they are, and the window's size is checked and told. */
#include <config.h>

#include <base/host/pty.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <tests/lib/unit.h>
#include <unistd.h>

START_TEST(test_bytes_pass_as_they_are)
{
    static const char text[] = "a line\nctrl-c \003 ctrl-d \004 cr \r\n";
    char got[64];
    int ours, theirs;
    if (pty_open((struct window){0}, &ours, &theirs) != 0) {
        return; /* none to be had here */
    }
    ck_assert(isatty(theirs));
    ck_assert_int_eq(read(ours, got, sizeof(got)), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(write(theirs, text, sizeof(text)), sizeof(text));
    ck_assert_int_eq(read(ours, got, sizeof(got)), sizeof(text));
    ck_assert_int_eq(memcmp(got, text, sizeof(text)), 0);
    ck_assert_int_ne(fcntl(ours, F_GETFD) & FD_CLOEXEC, 0);
    ck_assert_int_ne(fcntl(theirs, F_GETFD) & FD_CLOEXEC, 0);
    close(theirs);
    ck_assert_int_eq(read(ours, got, sizeof(got)), -1);
    ck_assert_int_eq(errno, EIO);
    close(ours);
}
END_TEST

START_TEST(test_the_size_is_told)
{
    struct winsize size;
    int ours, theirs;
    if (pty_open((struct window){.rows = 24, .columns = 80}, &ours, &theirs) != 0) {
        return;
    }
    ck_assert_int_eq(ioctl(theirs, TIOCGWINSZ, &size), 0);
    ck_assert(size.ws_row == 24 && size.ws_col == 80);
    pty_resize(ours, (struct window){.rows = 5, .columns = 7});
    ck_assert_int_eq(ioctl(theirs, TIOCGWINSZ, &size), 0);
    ck_assert(size.ws_row == 5 && size.ws_col == 7);
    close(ours);
    close(theirs);
}
END_TEST

START_TEST(test_no_terminal_is_so_large)
{
    struct window window = {1, 2};
    ck_assert(!window_make(&window, UINT16_MAX + 1u, 1));
    ck_assert(!window_make(&window, 1, UINT32_MAX));
    ck_assert(window.rows == 1 && window.columns == 2);
    ck_assert(window_make(&window, UINT16_MAX, 0));
    ck_assert(window.rows == UINT16_MAX && window.columns == 0);
}
END_TEST

UNIT_MAIN("ptys")
