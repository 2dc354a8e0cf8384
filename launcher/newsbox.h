/* News (spawn_wire.h) on their way to the daemon. They go in batches, each with the descriptors of
 * its processes: while one is being sent, the other collects. What waits for a daemon that does not
 * read is bounded by that. */
#ifndef LAUNCHER_NEWSBOX_H
#define LAUNCHER_NEWSBOX_H

#include <launcher/spawn_wire.h>

enum {
    NEWSBOX_NEWS = 64, /* of a batch */
    NEWSBOX_FDS = 96,
};

struct newsbox_batch {
    struct news news[NEWSBOX_NEWS + 1]; /* the first is for NEWS_FDS */
    size_t count;                       /* without the first */
    int fds[NEWSBOX_FDS];               /* owned: the daemon's ends of pipes and sockets */
    size_t fd_count;
};

struct newsbox {
    int sock; /* borrowed */
    struct newsbox_batch batches[2];
    unsigned collecting; /* which */
    const char *unsent;  /* within the other */
    size_t unsent_bytes;
    bool closed; /* there is nobody to send to */
};

void newsbox_open(struct newsbox *box, int sock);
/* Forgets what is there, and what comes later. */
void newsbox_close(struct newsbox *box);

/* Is there room for one more, and so many descriptors? Always in a closed one. */
bool newsbox_fits(const struct newsbox *box, size_t fds);
/* What fits. */
void newsbox_add(struct newsbox *box, struct news news);
/* A process has been started; takes the daemon's ends of its descriptors (-1: it has none). */
void newsbox_add_start(struct newsbox *box, uint32_t id, pid_t pid, const int fds[SPAWN_FDS]);

/* Sends what the daemon takes now. False: it is gone, errno says why. */
bool newsbox_flush(struct newsbox *box) KEEL_MUST_CHECK;
/* Does some of it wait for the daemon to read? */
bool newsbox_is_blocked(const struct newsbox *box);

#endif
