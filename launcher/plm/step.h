/* What the srun of the daemons' step writes to its stderr: each line goes on to the user as it is,
 * Slurm's reason for ending the step is kept, and which daemon has ended is told. On the loop.
 *
 * That a task was killed and that Slurm has cancelled the step reach srun on two ways. Which of the
 * two is the reason, the order of their lines does not say: a task's end is told only when no
 * cancellation has followed it for a while. With --kill-on-bad-exit the cancellation is the
 * consequence, and a task's end is told at once. */
#ifndef LAUNCHER_PLM_STEP_H
#define LAUNCHER_PLM_STEP_H

#include <base/loop/lines.h>
#include <launcher/front/channel.h>

enum { STEP_LINE_MAX = LINES_MAX, STEP_REASON_MAX = 128 }; /* with their ends */

struct step {
    struct lines lines;
    struct channel_end *front;    /* borrowed */
    char reason[STEP_REASON_MAX]; /* "": Slurm has not ended the step */
    bool kill_on_bad_exit;        /* srun was given that option */

    /* The end of tasks that may be the consequence of a cancellation; nodes "": none. */
    char nodes[STEP_LINE_MAX], how[STEP_REASON_MAX];
    struct loop_timer settling;

    /* Both may be NULL. The daemons of these nodes, as "n[1-2]", have ended while Slurm had not
     * ended the step; how: "task 0: Killed". */
    void (*daemons_ended)(struct step *step, const char *nodes, const char *how);
    void (*settled)(struct step *step); /* step_is_settled has become true */
};

void step_init(struct step *step, struct loop *loop, struct channel_end *front);
/* Takes the descriptor, the non-blocking end of a pipe. */
void step_open(struct step *step, int fd);
/* Takes in what has come so far. */
void step_read(struct step *step);
/* The same, for the last time; then it is settled. */
void step_close(struct step *step);
/* Without a word to anybody. */
void step_fini(struct step *step);

/* False while tasks have ended and Slurm may still say that it has cancelled the step: for less
 * than a second. */
bool step_is_settled(const struct step *step);
/* Waits no longer for what Slurm may say. */
void step_settle(struct step *step);

/* Does this line say that Slurm has cancelled the step? Then reason does, too: "Slurm has cancelled
 * step 7.0: time limit". Pure. */
bool step_is_cancelled(const char *line, char *reason, size_t size);

/* Does this line say that tasks have ended badly? Then nodes[STEP_LINE_MAX] says where, and
 * how[STEP_REASON_MAX] which and how. Pure. */
bool step_is_end_of_tasks(const char *line, char *nodes, char *how);

/* Do these options of srun, with blanks between, end the step when a task ends badly? Pure. */
bool step_is_killed_on_bad_exit(const char *options);

#endif
