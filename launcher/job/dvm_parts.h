/* What the files of a dvm share. */
#ifndef LAUNCHER_JOB_DVM_PARTS_H
#define LAUNCHER_JOB_DVM_PARTS_H

#include <launcher/job/dvm.h>

enum daemon_event {
    DAEMON_CALLS_HOME,
    DAEMON_LINKS,            /* to its parent */
    DAEMON_IS_LOST,          /* and the user is told why */
    DAEMON_IS_LOST_FOR_NOW,  /* and Slurm may yet say why */
    DAEMON_IS_LOST_WITH_ALL, /* the one agent of all daemons ends them, and says why */
    DAEMON_IS_EXPLAINED,
    DAEMON_IS_TOLD, /* that the tree grows */
    DAEMON_HAS_GROWN,
};

enum dvm_event {
    DVM_START,
    DVM_ALL_HOME,
    DVM_KNOWN,
    DVM_ALL_WIRED,
    DVM_CLOSE,
    DVM_GROW,
    DVM_ALL_GROWN,
    DVM_LATE, /* too late to grow */
};

/* An event of all daemons, with all that follows from it. */
void dvm_take(struct dvm *dvm, enum dvm_event event);

/* What has been reached by all daemons that are not lost? */
void dvm_check(struct dvm *dvm);

/* An event of a daemon, with all that follows from it. */
void dvm_take_daemon(struct dvm *dvm, uint32_t vpid, enum daemon_event event);

/* dvm_grow.c: actions */
void dvm_announce(struct dvm *dvm);
void dvm_join(struct dvm *dvm);
/* One of those that were added is linked: those below it join. */
void dvm_lead(struct dvm *dvm, uint32_t vpid);
void dvm_grown(struct dvm *dvm);
/* To grow takes too long. */
void dvm_grow_late(struct dvm *dvm, uint64_t now_us);

/* dvm_loss.c: actions */
void dvm_lose(struct dvm *dvm, uint32_t vpid);
void dvm_lose_for_now(struct dvm *dvm, uint32_t vpid);
void dvm_tell_loss(struct dvm *dvm, uint32_t vpid);
/* The next daemon without a parent is due. */
void dvm_repair_due(struct dvm *dvm, uint64_t now_us);

/* dvm_silence.c */
/* A daemon is heard again, or lost: the user may be told that the others answer. */
void dvm_silence_over(struct dvm *dvm);
/* It is time to tell of those that are silent. */
void dvm_silence_due(struct dvm *dvm, uint64_t now_us);

#endif
