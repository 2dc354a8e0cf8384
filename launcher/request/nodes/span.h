/* Text cut into lines and words. */
#ifndef LAUNCHER_REQUEST_NODES_SPAN_H
#define LAUNCHER_REQUEST_NODES_SPAN_H

#include <keel/types.h>

/* Borrowed; not ended with 0. */
struct span {
    const char *at;
    size_t size;
};

/* text need not end with 0. */
struct lines {
    struct span text; /* what is left */
    unsigned number;  /* of the line that was read last; 0: none was */
};

/* The next line, without a comment, which '#' begins. False: there is none. */
bool lines_next(struct lines *lines, struct span *line);
/* Cuts the next word off a line; of size 0: there is none. "a = b" is one word. */
struct span span_word(struct span *line);
/* Cuts NAME=VALUE in two, without the blanks around the '='. False: there is no '='. */
bool span_split(struct span word, struct span *name, struct span *value);
/* Is it NAME=VALUE, and of this name. */
bool span_is_named(struct span word, const char *name, struct span *value);

/* For messages: "%.*s" with SPAN_SHOWN(span). */
#define SPAN_SHOWN(span) (int) ((span).size < 80 ? (span).size : 80), (span).at

#endif
