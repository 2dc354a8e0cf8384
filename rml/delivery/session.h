/* What two incarnations of two processes have between them: a stream each way in each class. Knows
 * which incarnation it speaks to, so that nothing meant for one reaches another. Pure
 * (rml/message/stamp.h).
 *
 * The peer's incarnation is learned from a link's handshake or from its first frame. Until it is
 * known nothing but probes is sent. A frame of another one may be old, of a process that ended long
 * ago: it only makes this end ask who is there, with a number that the answer repeats. The answer
 * proves the change: everything that was pending fails, and both directions begin anew. */
#ifndef RML_SESSION_H
#define RML_SESSION_H

#include <rml/delivery/receiver.h>
#include <rml/delivery/sender.h>

#define RML_DOUBT_US 50000u

struct rml_session {
    uint64_t self;     /* my incarnation */
    uint64_t peer;     /* the peer's; 0: not known */
    uint64_t last;     /* the peer's, until it was forgotten; 0: it was not */
    uint64_t doubt;    /* the number of the last question who is there */
    uint64_t doubt_at; /* when it was asked; 0: never, or it was answered */
    bool ask_who;      /* it is yet to be sent */
    bool opening;      /* peer is not known, and probes go out */
    bool announce;     /* the peer is to learn of this incarnation */
    struct rml_sender out[OOB_CLASSES];
    struct rml_receiver in[OOB_CLASSES];
    bool used; /* a message was exchanged with this incarnation since it was forgotten */
};

/* What a frame did. The lists are the caller's and initialized; they get struct rml_out. */
struct rml_heard {
    bool take;         /* of RML_DATA: it continues its stream, and is the caller's to assemble */
    bool renewed;      /* another incarnation: messages under way to and from the old one ended */
    bool restarted;    /* the stream's assembly under way will not be continued */
    bool was_used;     /* of renewed: messages had been exchanged with the old one */
    bool send;         /* rml_session_next may have frames now */
    bool reply;        /* answer with rml_session_reply now, whatever else */
    uint64_t reply_to; /* the incarnation to answer */
    uint64_t number;   /* of its question */
    bool refused;      /* a good peer would not have sent it */
    struct list done;  /* acknowledged */
    struct list ended; /* failed: they were for the old incarnation */
};

void rml_session_init(struct rml_session *session, uint64_t self, uint64_t window,
                      uint64_t held_max);
/* A handshake proved the peer's incarnation; heard's renewed and its companions tell the rest. */
void rml_session_know(struct rml_session *session, uint64_t peer, struct rml_heard *heard);
/* DATA, ACK and PROBE that came from the peer. */
void rml_session_receive(struct rml_session *session, const struct rml_stamp *stamp, uint64_t now,
                         struct rml_heard *heard);
/* Queues a frame, length and ask filled. */
void rml_session_push(struct rml_session *session, enum oob_class class, struct rml_out *frame,
                      uint64_t now);
/* Learns who is there although there is nothing to send. */
void rml_session_open(struct rml_session *session, uint64_t now);
/* The next frame of a class that may be sent, stamped but for rest; NULL: none. */
struct rml_out *rml_session_next(struct rml_session *session, enum oob_class class, uint64_t now,
                                 struct rml_stamp *stamp);
/* Is a probe or an acknowledgement due? It is stamped, and must be sent. */
bool rml_session_word(struct rml_session *session, enum oob_class class, uint64_t now,
                      struct rml_stamp *stamp) KEEL_MUST_CHECK;
/* The answer that heard asks for. */
void rml_session_reply(struct rml_session *session, enum oob_class class,
                       const struct rml_heard *heard, struct rml_stamp *stamp);
/* The way changed: what is not acknowledged may be lost. */
void rml_session_repair(struct rml_session *session, uint64_t now);
/* Gives up what is pending in all classes. */
void rml_session_fail(struct rml_session *session, struct list *failed);
/* The peer ended, as far as is known: who is there next is learned anew, and what is queued from
 * now on is for that one. Nothing is pending. Had messages been exchanged since it was last
 * forgotten? */
bool rml_session_forget(struct rml_session *session);
/* This process is another incarnation from now on: what is pending ended, both directions begin
 * anew, and who is there is learned again. Announcing it, once there is a way, lets a peer know
 * with which messages had been exchanged. True: there is something to say. */
void rml_session_restart(struct rml_session *session, uint64_t self, struct list *ended);
bool rml_session_announce(struct rml_session *session, uint64_t now);
/* Is this the incarnation of the peer, as far as is known or was? */
bool rml_session_is_with(const struct rml_session *session, uint64_t peer);
/* Asks for, and gives, the acknowledgements that are outstanding: the end is near. */
void rml_session_hurry(struct rml_session *session, uint64_t now);
bool rml_session_pending(const struct rml_session *session);
/* When rml_session_word may have something again; UINT64_MAX: not by itself. */
uint64_t rml_session_due(const struct rml_session *session);
/* Since when the peer has not answered; UINT64_MAX: nothing is asked of it. */
uint64_t rml_session_silent(const struct rml_session *session);

#endif
