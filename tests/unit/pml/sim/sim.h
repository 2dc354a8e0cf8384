/* Messages by source and tag between two to four processes, over one to four rails, in virtual
 * time. One schedule is one seed. Production's: the PML and ptl/rail. Modelled: BTL modules (frames
 * in order, shortages of room, puts and gets that end at once or later, registrations), the choice
 * of rails, and what befalls rails: they die at any time, with what is under way arrived, late or
 * lost; one end notices before the other; they return as new sessions, or come for the first time;
 * they do not connect at first, or ever; or nothing passes for a while and nobody notices.
 *
 * What must hold: each message is received once, whole, by a receive that wants it, in MPI's order;
 * a send that ended well was delivered, unless all rails between the two were lost; its buffer is
 * not read after its end, nor is a receive's written to; no range of a message is moved twice by
 * RDMA; whatever ends with an error had all its rails lost; everything ends in bounded time, leaves
 * nothing behind, and all rails that are there are in use. */
#ifndef TESTS_UNIT_PML_SIM_SIM_H
#define TESTS_UNIT_PML_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

/* What befalls rails. */
enum sim_fate {
    SIM_CALM,     /* nothing */
    SIM_FAILOVER, /* they die and return, but two processes always have one that works */
    SIM_LAST,     /* any dies, the last one too */
};

/* A part that the test takes out. */
enum sim_sabotage {
    SIM_SOUND,
    SIM_FRAGMENTS_TWICE,  /* a fragment that comes again is taken */
    SIM_MESSAGES_TWICE,   /* a first fragment is */
    SIM_ORDER_OF_ARRIVAL, /* messages are matched as they come */
    SIM_ACK_BEFORE_COPY,  /* a frame is acknowledged before it has come */
    SIM_RANGE_WHOLE,      /* of a piece that was lost all before it is moved again, too */
    SIM_LATE_RDMA,        /* a registration that was taken back lets puts in */
    SIM_SECOND_OPEN,      /* only that which a buffer had with a second rail does */
    SIM_FIN_BEFORE_DATA,  /* a send ends when its receiver begins to fetch */
    SIM_NO_WRAP,          /* a number after the last one is taken for an old one */
    SIM_KEEPS_RAIL,       /* what was for a rail that is lost goes by no other one */
};

enum { SIM_PINNED = 8 << 10, SIM_PROMPT_NS = 20000 };

struct sim_options {
    int rails;          /* between two processes at most; 0: one to four */
    enum sim_fate fate; /* with one rail CALM stands for FAILOVER */
    bool parts;         /* two processes, whose first rail is too small for the others' frames */
    bool handshakes;    /* rails connect when they are used, soon, after a while, or never */
    bool narrow;        /* few bytes may be under way to a process over several rails */
    bool prompt; /* long messages, soon; processes poll each SIM_PROMPT_NS; rails only send */
    bool pins;   /* rails pin memory: of a message only SIM_PINNED bytes at a time */
    bool puts;   /* all rails put, none gets, and one end may be late to notice deaths */
    enum sim_sabotage sabotage;
};

struct sim_report {
    bool held;
    char reason[200];
    uint64_t events, messages, bytes, failed; /* failed: sends and receives with an error */
    uint64_t puts, gets, shortages, denied;
    uint64_t owed_ns, owed_bytes; /* most of what had come and was not told of */
    uint64_t gave_way;            /* ends of rails that did not connect */
    uint64_t divided;             /* receives that several rails put to */
    uint64_t
        awaited; /* puts and gets to a process that was given up, which their ends waited for */
    uint64_t deaths, returns, late,
        stale; /* late: what came after its sender knew; stale: refused */
};

void sim_run(uint64_t seed, const struct sim_options *options, struct sim_report *report);

#endif
