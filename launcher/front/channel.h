/* The line between the front end and the HNP: messages in buffers, in order, each way. Both ends
 * live in keelrun today and are served by one loop; nothing on either side may know that.
 *
 * The first byte of each message says what it is, the letters what follows (wireup/proto.h). */
#ifndef LAUNCHER_FRONT_CHANNEL_H
#define LAUNCHER_FRONT_CHANNEL_H

#include <base/loop/loop.h>
#include <keel/buffer.h>

enum front_message {
    /* front end to HNP */
    FRONT_SUBMIT = 1,    /* struct run_request */
    FRONT_SIGNAL,        /* i signal, s the process that sent it; "": the terminal, or not known */
    FRONT_INPUT,         /* b bytes; none: the end */
    FRONT_WRITTEN,       /* u source, u bytes: of its output */
    FRONT_OUTPUT_CLOSED, /* c stream (1, 2): nobody reads it any more */
    FRONT_WINDOW,        /* u rows, u columns: the terminal's new size */
    FRONT_ASK_PROGRESS,  /* -: which nodes have called home? */
    FRONT_OUTPUT_LOST,   /* s where, s why: output is lost, for the report */
    /* HNP to front end */
    FRONT_OUTPUT,       /* u source, u rank, u its pid, s its node, c stream (1, 2), b bytes */
    FRONT_JOB,          /* s the job's uuid, before any output */
    FRONT_INPUT_CREDIT, /* u bytes that may be sent now, beyond those before */
    FRONT_INPUT_CLOSED, /* -: nobody reads any more */
    FRONT_TEXT,         /* s line: for the user */
    FRONT_PLAIN,        /* c stream, s line: as it is */
    FRONT_PROGRESS,     /* c all are home (1), u nodes that are to call home, u of them that
                         * have not, s their names in short */
    FRONT_REPORT,       /* s lines of the report, newlines between them */
    FRONT_STANDS,       /* -: the DVM stands, of which this is the front end */
    FRONT_EXIT,         /* i exit code: the job is over, and all its output was sent */
};

struct channel_end;
typedef void (*channel_fn)(void *arg, opal_buffer_t *buffer);

/* Makes both ends. */
int channel_create(struct loop *loop, struct channel_end **front,
                   struct channel_end **hnp) KEEL_MUST_CHECK;
void channel_destroy(struct channel_end *end);
/* What arrives at this end goes to fn, from the loop. */
void channel_receive(struct channel_end *end, channel_fn fn, void *arg);
/* Takes the buffer (NULL: out of memory). False: there is no memory to send it, which is logged. */
bool channel_send(struct channel_end *end, opal_buffer_t *buffer);

#endif
