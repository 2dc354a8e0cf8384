/* Whether a network link or an address has come up, as the kernel tells those who listen
 * (rtnetlink). For who waits for one: a watch costs nothing before it is first asked. */
#ifndef BASE_LINKWATCH_H
#define BASE_LINKWATCH_H

#include <keel/types.h>

enum {
    LINKWATCH_LOOK_US = 10000,  /* between two looks */
    LINKWATCH_REST_US = 250000, /* after something came up, whatever else happens meanwhile */
};

/* All zero: closed. */
struct linkwatch {
    bool open;
    int fd;
    uint64_t look_us; /* not before */
};

/* Something came up since the last call, or since the first one, which opens the watch. Never
 * waits; reads a bounded number of messages. Without rtnetlink it is false. now_us: of a clock that
 * only goes forward. */
bool linkwatch_rose(struct linkwatch *watch, uint64_t now_us);
void linkwatch_close(struct linkwatch *watch);

/* For tests: whether these messages of the kernel's tell of that. */
bool linkwatch_read(const void *data, size_t size);

#endif
