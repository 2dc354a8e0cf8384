/* What keelrun and a standing DVM say to each other: messages in frames, over a unix socket of
 * which the kernel says that both ends are of one user.
 *
 * The first byte of each message says what it is, the letters what follows (wireup/proto.h); the
 * frames are those of wireup/frame.h. */
#ifndef LAUNCHER_STANDING_TALK_H
#define LAUNCHER_STANDING_TALK_H

#include <base/data/bytes.h>
#include <base/loop/loop.h>
#include <keel/buffer.h>

#define TALK_SOCKET "dvm"            /* beside the DVM's unix socket for ranks */
#define TALK_FRAME_MAX (8u << 20)    /* bytes of a message */
#define TALK_WAITING_MAX (32u << 20) /* bytes that the other end has not read yet */

enum talk_message {
    /* keelrun to the DVM */
    TALK_HELLO = 1, /* s version of Keel, u umask, strings the environment */
    TALK_TAKE,      /* u nodes, nodes x u: how many slots its job takes on each, in all; again when
                     * it has spawned ranks */
    TALK_START,     /* u vpid, u node, b text: start this daemon of the job there (home.h) */
    TALK_STOP,      /* -: the DVM is to end */
    TALK_CHANGE,    /* c enum talk_change, s hosts */
    /* the DVM to keelrun */
    TALK_NODES,     /* strings the nodes; nodes x 2u: slots (0: it is lost), of them in use. The job
                     * may be planned: nobody else plans one until TALK_TAKE */
    TALK_SAID,      /* s line: a daemon of the job has written it to its standard error */
    TALK_UNSTARTED, /* u vpid, s why: this daemon of the job does not run */
    TALK_OVER,      /* s why: the DVM ends, or refuses; nothing comes behind it */
    TALK_CHANGED,   /* -: that is done; nothing comes behind it */
};

enum talk_change {
    TALK_REMOVE,   /* hosts as of --host, */
    TALK_ADD,      /* so here, */
    TALK_ADD_FILE, /* and here the text of a hostfile */
};

struct talk;

struct talk_ops {
    /* A message, on the loop. An error is logged, and ends the talk. */
    int (*heard)(void *arg, uint8_t kind, opal_buffer_t *buffer);
    /* The other end is gone, or says what makes no sense. The last call; the talk may be freed in
     * it, after talk_close. */
    void (*ended)(void *arg);
};

struct talk {
    int fd; /* owned; -1: closed */
    struct loop_io io;
    struct bytes in, out;
    const struct talk_ops *ops; /* borrowed; NULL: it is not served by a loop yet */
    void *arg;
};

/* Takes the descriptor, which is non-blocking. */
void talk_open(struct talk *talk, int fd);
void talk_close(struct talk *talk);
/* What arrives goes to ops from now on. */
void talk_serve(struct talk *talk, struct loop *loop, const struct talk_ops *ops, void *arg);
/* Takes the buffer (NULL: out of memory). False: it cannot be sent. */
bool talk_send(struct talk *talk, opal_buffer_t *buffer);
/* Before talk_serve: waits for the next message, at most until until_us; signals that end
 * the process do so meanwhile, even where they are blocked (base/text/await.h). ORTE_ERR_TIMEOUT,
 * ORTE_ERR_COMM_FAILURE: the other end is gone; ORTE_ERR_UNPACK_FAILURE: it makes no sense. */
int talk_wait(struct talk *talk, uint64_t until_us, opal_buffer_t **buffer) KEEL_MUST_CHECK;

#endif
