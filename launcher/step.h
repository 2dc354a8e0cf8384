/* What the srun of the daemons' step writes to its stderr: each line goes on to the user as it is,
 * and Slurm's reason for ending the step is kept. On the loop. */
#ifndef LAUNCHER_STEP_H
#define LAUNCHER_STEP_H

#include <base/loop.h>
#include <launcher/channel.h>

struct step {
    int fd; /* owned; -1: none */
    struct loop_io io;
    struct channel_end *front; /* borrowed */
    char line[1024];           /* the beginning of the next one */
    size_t used;
    char reason[128]; /* "": Slurm has not ended the step */
};

void step_init(struct step *step, struct loop *loop, struct channel_end *front);
/* Takes the descriptor, the non-blocking end of a pipe. */
void step_open(struct step *step, int fd);
/* Takes in what has come so far. */
void step_read(struct step *step);
/* The same, for the last time. */
void step_close(struct step *step);

/* Does this line say that Slurm has cancelled the step? Then reason does, too: "Slurm has cancelled
 * step 7.0: time limit". Pure. */
bool step_is_cancelled(const char *line, char *reason, size_t size);

#endif
