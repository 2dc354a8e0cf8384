/* One end of a link in a test: an endpoint with a loop in a thread of its own, and what happened to
 * it. Several of them make the cases of the link tests, over real sockets. */
#ifndef TESTS_OOB_SIDE_H
#define TESTS_OOB_SIDE_H

#include <check.h>
#include <oob/endpoint.h>
#include <pthread.h>

struct side {
    struct loop *loop;
    struct oob *oob;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Called on the loop for each frame, before it is counted. May be NULL. */
    void (*on_frame)(struct side *side, struct oob_link *link, const uint8_t *data, size_t size);
    void *arg;
    int admit_status;
    uint64_t limit_us; /* of its connects */
    /* Guarded by lock. */
    struct oob_link *link; /* the last that came up; a reference */
    struct oob_peer peer;
    int ups, downs, down_status;
    int silences, again; /* of a watched link */
    bool is_silent;      /* it was told last */
    size_t frames, bytes;
    int connects_done, connect_status;
    char connect_reason[640];
};

enum side_transport { SIDE_UNIX, SIDE_UNIX_ENCRYPT, SIDE_TCP, SIDE_TCP_AUTH, SIDE_TCP_NONE };
#define SIDE_TRANSPORTS 5

/* The endpoint of vpid, with the application key; the loop runs from side_run on. */
void side_open(struct side *side, uint32_t vpid, enum side_transport transport);
void side_run(struct side *side);
void side_close(struct side *side);
/* The contact string of a listener that is made for the transport; malloc'd. */
char *side_listen(struct side *side, enum side_transport transport);
/* Runs a function on the side's loop and waits for it. */
void side_call(struct side *side, void (*fn)(struct side *side, void *arg), void *arg);
/* Starts a connect; side_wait on connects_done for its end. */
int side_connect(struct side *side, const char *contact, enum oob_key key);
int side_detour(struct side *side, const char *contact);
/* Two sides, 1 and 2, of which b listens: its contact string, malloc'd. side_run is the test's. */
char *side_open_two(struct side *a, struct side *b, enum side_transport transport);
void side_close_two(struct side *a, struct side *b, char *contact);
/* Two sides with a link between them: b listens, a has connected. */
void side_pair(struct side *a, struct side *b, enum side_transport transport);
/* Waits until *counter (one of the side's, under its lock) is at least value; fails the test after
 * some seconds. */
void side_wait_int(struct side *side, const int *counter, int value);
void side_wait_size(struct side *side, const size_t *counter, size_t value);

/* A connect to its end, which is that failure (its reason contains this text), or a link. */
void side_expect_failure(struct side *side, const char *contact, enum oob_key key, int status,
                         const char *reason);
void side_expect_link(struct side *side, const char *contact, enum oob_key key);
/* A contact string with its name's vpid replaced, and addresses put in front; static memory. */
const char *side_with_name(const char *contact, unsigned vpid, const char *front);
/* The port of its address 127.0.0.1. */
uint16_t side_port_of(const char *contact);
/* A frame arrives. */
void side_talk(struct side *from, struct side *to);

/* Open descriptors of this process. */
int side_count_fds(void);

/* Sends a copy of the bytes; its done is counted in sent_ok or sent_failed, of all sides. */
void side_send(struct oob_link *link, enum oob_class class, const void *data, size_t size);
extern atomic_size_t sent_ok, sent_failed;
/* Waits until so many sends have completed. */
void side_wait_sent(size_t count);

#endif
