/* The shepherd's events (shepherd_wire.h) on their way to the daemon. They are sent in batches,
 * each with the descriptors of its processes. While one batch is being sent, another collects, so
 * that what waits for a daemon that does not read is bounded. */
#ifndef LAUNCHER_SHEPHERD_EVENT_QUEUE_H
#define LAUNCHER_SHEPHERD_EVENT_QUEUE_H

#include <launcher/shepherd/shepherd_wire.h>

enum {
    EVENT_BATCH_MAX = 64, /* events */
    EVENT_BATCH_FDS = 96, /* descriptors */
};

struct event_batch {
    struct shepherd_event events[EVENT_BATCH_MAX + 1]; /* the first is for EVENT_FDS */
    size_t count;                                      /* without the first */
    int fds[EVENT_BATCH_FDS]; /* owned: the daemon's ends of pipes and sockets */
    size_t fd_count;
};

struct event_queue {
    int sock; /* borrowed */
    struct event_batch batches[2];
    unsigned collecting; /* which */
    const char *unsent;  /* within the other */
    size_t unsent_bytes;
    bool closed; /* there is nobody to send to */
};

void event_queue_open(struct event_queue *queue, int sock);
/* Drops all events, and those that are added later. */
void event_queue_close(struct event_queue *queue);

/* Is there room for one more event with so many descriptors? Always in a closed queue. */
bool event_queue_fits(const struct event_queue *queue, size_t fds);
/* There must be room. */
void event_queue_add(struct event_queue *queue, struct shepherd_event event);
/* The start of a process, which must have room; takes the daemon's ends of its descriptors (-1:
 * there is none). */
void event_queue_add_start(struct event_queue *queue, uint32_t id, pid_t pid,
                           const int fds[PROC_FDS]);

/* Sends what the socket takes now. False: the daemon is gone, errno says why. */
bool event_queue_flush(struct event_queue *queue) KEEL_MUST_CHECK;
/* Does a batch wait for the daemon to read? */
bool event_queue_is_blocked(const struct event_queue *queue);

#endif
