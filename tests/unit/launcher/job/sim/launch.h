/* Launches with simulated daemons, ranks and users: production's struct dvm and struct job, and
 * around them a world in which daemons come home, come late, twice or never, fall silent and die,
 * in every phase; in which ranks end well and badly, and users interrupt. One schedule is one seed,
 * on a virtual clock. One or two jobs run on the daemons.
 *
 * What must hold: after every event the objects have asked for just what the rules (launch_rules.h)
 * say, line by line, and wait for the same deadlines; every job is over at last, with the code of
 * the rules, and then no timer runs. */
#ifndef TESTS_UNIT_LAUNCHER_JOB_SIM_LAUNCH_H
#define TESTS_UNIT_LAUNCHER_JOB_SIM_LAUNCH_H

#include <launcher/job/fsm.h>

/* What the test breaks. */
enum launch_without {
    LAUNCH_WHOLE,
    LAUNCH_WITHOUT_ROW,        /* a row of one of the tables: number */
    LAUNCH_MANY_REASONS,       /* a second reason counts as well */
    LAUNCH_HOME_TWICE,         /* who calls home twice counts as linked */
    LAUNCH_LAUNCHED_TWICE,     /* who has launched twice counts as drained */
    LAUNCH_NO_LOSS_AT_THE_END, /* a daemon that is lost while the output is drained is ignored */
    LAUNCH_NO_STOP,            /* timers are not stopped */
};

struct launch;

struct launch_report {
    bool held;
    char reason[700]; /* if not */
    uint32_t events, daemons, jobs;
    uint32_t deaths, losses, late, twice, silences, interrupts, kills, failed, added;
};

struct launch *launch_create(void);
void launch_destroy(struct launch *launch);
void launch_run(struct launch *launch, uint64_t seed, enum launch_without without, uint32_t number,
                struct launch_report *report);
/* How many rows the tables have together, and what one of them is called. */
uint32_t launch_rows(void);
void launch_row_name(uint32_t number, char *text, size_t size);

#endif
