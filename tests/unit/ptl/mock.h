/* A PTL for tests, written against the installed headers alone: its modules send to themselves, by
 * a queue that progress delivers when the time has come. */
#ifndef TESTS_UNIT_PTL_MOCK_H
#define TESTS_UNIT_PTL_MOCK_H

#include <keel/ptl_ext.h>

enum { MOCK_MODULES = 8 };

/* A module that the component's init makes. */
struct mock_plan {
    uint32_t exclusivity, latency, bandwidth;
    uint64_t reaches; /* bit i: the process with vpid i */
    bool broken;      /* its add_procs fails */
    uint32_t flags;
};

/* What the component does, and what happened to it; its functions are told no module. */
struct mock {
    struct mock_plan plans[MOCK_MODULES];
    int count;
    mca_ptl_tstamp_t delay; /* from send to delivery */
    bool keeps_peers;       /* a process that is added again has the peer that it had */
    int refuses;            /* what its open returns */
    int lame;               /* what its progress and control return */
    bool progress_threads, threads, enabled;
    int opened, closed, finalized;
    int asked[MOCK_MODULES], added[MOCK_MODULES]; /* processes, of each module */
};
extern struct mock mock;
extern mca_ptl_base_component_t mock_component;

/* The place of a module in the plans. */
size_t mock_index(const mca_ptl_base_module_t *ptl);

#endif
