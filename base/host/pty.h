/* Pseudo-terminals for what ranks print: a program that writes through stdio shows each line at
 * once, as it does in front of a user. They change no byte (no CR before LF), and are nobody's
 * controlling terminal.
 *
 * The end of a pty's output is EIO, not 0. */
#ifndef BASE_PTY_H
#define BASE_PTY_H

#include <keel/types.h>

/* The size of a terminal in characters; 0: not known. */
struct window {
    uint16_t rows, columns;
};

/* A new pty: ours, non-blocking, gives what is written to theirs. Both are close-on-exec. 0, or
 * -errno where there is none to be had. */
int pty_open(struct window window, int *ours, int *theirs) KEEL_MUST_CHECK;
/* Who asks for the size gets the new one; no signal is sent. Either end; nothing else is changed.
 */
void pty_resize(int fd, struct window window);
/* Sets window from numbers off a wire. False: no terminal is so large; window stays. */
bool window_make(struct window *window, uint32_t rows, uint32_t columns) KEEL_MUST_CHECK;
/* The size of the terminal that this process's standard output, error or input is. */
struct window pty_window(void);

#endif
