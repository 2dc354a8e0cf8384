/* Two ranks, the rail between them, and the messages on it. Rank 0 asks, rank 1 answers; where a
 * job has one rank it does both, over self. */
#ifndef TOOLS_PERF_PAIR_H
#define TOOLS_PERF_PAIR_H

#include <keel/keel.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Tags of the active messages. All but PART are of a message's last fragment. */
enum { PART = MCA_BTL_TAG_USR, LAST, PING, PONG, FLUSH, RECEIPT, ASK_USE, USE, OVER, WAKE };

struct pair {
    mca_btl_base_module_t *btl; /* borrowed */
    struct mca_btl_base_endpoint_t *endpoint;
    unsigned char *out, *in; /* what is sent; where the other's bytes arrive. capacity each */
    size_t capacity;
    size_t rotate;        /* operations take their buffers in turn from so many bytes; 0: one */
    size_t out_at, in_at; /* the next buffer's offset: of a send or access; of what arrives */
    mca_btl_base_registration_handle_t *out_handle, *in_handle;
    uint64_t remote_address; /* the other's in */
    unsigned char remote_handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
    unsigned window;
    /* Of messages by tag: receives that are posted, and messages that wait, before those of a test;
     * whether its receives are for any source and tag. */
    unsigned posted, unexpected;
    bool any;
    bool asleep;         /* progress is left to a progress thread */
    unsigned compute_us; /* the answering end computes for so long between two polls */
    double computed_s;   /* and has done so in all */

    size_t arrived;        /* bytes of the message that is coming in */
    size_t owed_bytes;     /* size of the echoes owed */
    unsigned owed, echoes; /* echoes to be sent; echoes that came */
    unsigned owed_receipts, receipts;
    bool owed_use;      /* the other end asks for this one's processor time */
    double use_s;       /* the other end's processor time; negative: has not come */
    atomic_uint ends;   /* how often the other end has said that it is done, still to be heeded */
    unsigned under_way; /* sends or accesses without their callback yet */
    int status;         /* the first error of a callback */
};

/* Takes the first of the rails to the other rank that are named (modules' names, with commas; NULL:
 * the best one), registers memory, and exchanges handles. Blocks in the job's fence: every rank
 * calls it, those without a pair with takes_part false. False, with the reason in why: one of the
 * rails is not there, or no memory. */
bool pair_open(struct pair *pair, bool takes_part, const char *names, size_t capacity, char *why,
               size_t why_size);
void pair_close(struct pair *pair);

/* Sends one message, in as many fragments as the rail wants, and runs progress while the rail is
 * full. The last fragment says what is expected: nothing, an echo of the same size, a receipt. */
enum expect { EXPECT_NOTHING, EXPECT_ECHO, EXPECT_RECEIPT };
int pair_send(struct pair *pair, size_t size, enum expect expect);
/* Progress, and the answers that it made due. */
int pair_drive(struct pair *pair);
/* Answers until the other end calls pair_end. */
int pair_answer(struct pair *pair);
int pair_end(struct pair *pair);

/* The offset of the next operation's buffer. */
size_t pair_turn(struct pair *pair, size_t size);
/* Processor time of both ends so far, but for what the answering one computes. Of ends that sleep:
 * a negative number. */
int pair_use(struct pair *pair, double *seconds);

#endif
