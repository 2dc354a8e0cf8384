/* What an agent writes to its stderr. It is kept until it is known whether its daemon comes home:
 * if it does, this and all that follows goes on to the user; if not, the last line says why. On the
 * loop. */
#ifndef LAUNCHER_AGENT_SAID_H
#define LAUNCHER_AGENT_SAID_H

#include <base/loop/lines.h>

enum { SAID_MAX = 64 }; /* lines; of more, the last is kept in place of the one before it */

struct said {
    struct lines lines;
    char **kept; /* owned, NULL-ended */
    bool passes; /* lines go on */
    void (*pass)(struct said *said, const char *line);
};

void said_init(struct said *said, struct loop *loop,
               void (*pass)(struct said *said, const char *line));
/* Takes the descriptor, or -1. */
void said_open(struct said *said, int fd);
/* Passes on what is kept, and from now on every line at once. */
void said_pass(struct said *said);
/* Takes in what has come, and reads no more. */
void said_close(struct said *said);
/* The last line that has something to read: malloc'd, without blanks around it, other characters
 * than text as '?'. NULL: there is none, or no memory. */
char *said_last(const struct said *said);
/* Closes, and forgets what is kept: the agent is tried again. */
void said_fini(struct said *said);

#endif
