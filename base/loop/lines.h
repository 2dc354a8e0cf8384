/* Lines of text from a pipe, on the loop. A line that is longer than LINES_MAX goes on as several;
 * the last one need not be ended. */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <base/loop/loop.h>

enum { LINES_MAX = 1024 }; /* with the end of the string */

struct lines {
    int fd; /* owned; -1: none */
    struct loop_io io;
    char line[LINES_MAX]; /* the beginning of the next one */
    size_t used;
    void (*take)(struct lines *lines, const char *line);
    void (*ended)(struct lines *lines); /* nobody writes any more: it is closed. May be NULL */
};

void lines_init(struct lines *lines, struct loop *loop,
                void (*take)(struct lines *lines, const char *line));
/* Takes the descriptor, which is non-blocking. */
void lines_open(struct lines *lines, int fd);
/* Takes in what has come so far. */
void lines_read(struct lines *lines);
/* The same, for the last time; without a call of ended. No-op when it is closed. */
void lines_close(struct lines *lines);
/* Closes without a word. */
void lines_drop(struct lines *lines);

#endif
