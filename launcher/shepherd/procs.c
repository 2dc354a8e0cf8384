#include <config.h>

#include <base/data/array.h>
#include <base/data/clock.h>
#include <errno.h>
#include <launcher/shepherd/procs.h>
#include <launcher/shepherd/sweep.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum {
    STEP_GRACE_US = 300000,
    AGENT_GRACE_US = 500000,
    SHEPHERD_GRACE_US = 1000000,
    KILL_LIMIT_US = 1600000, /* a process that SIGKILL does not end is left to the kernel */
};

bool procs_reserve(struct procs *procs)
{
    return array_add(&procs->list, procs->count, sizeof(*procs->list));
}

void procs_add(struct procs *procs, struct proc proc)
{
    procs->list[procs->count++] = proc;
}

/* Where it is; procs->count: nowhere. */
static size_t place_of(const struct procs *procs, pid_t pid)
{
    size_t i = 0;
    while (i < procs->count && procs->list[i].pid != pid) {
        i++;
    }
    return i;
}

bool procs_find(const struct procs *procs, pid_t pid, uint32_t *id)
{
    size_t i = place_of(procs, pid);
    *id = i < procs->count ? procs->list[i].id : 0;
    return i < procs->count;
}

bool procs_remove(struct procs *procs, pid_t pid, uint32_t *id)
{
    bool found = procs_find(procs, pid, id);
    if (found) {
        procs->list[place_of(procs, pid)] = procs->list[procs->count - 1];
        procs->count--;
    }
    return found;
}

static void kill_group(pid_t leader, int signal)
{
    if (kill(-leader, signal) < 0 && errno == ESRCH) {
        kill(leader, signal);
    }
}

void procs_signal(const struct procs *procs, uint32_t id, int signal)
{
    for (size_t i = 0; i < procs->count; i++) {
        if (procs->list[i].id == id) {
            kill_group(procs->list[i].pid, signal);
            return;
        }
    }
}

/* --- the end --- */

/* SIGKILL to every child but the agents: ranks, and what ranks left behind. Returns how many there
 * were, reaped or not. */
static size_t sweep_ranks(struct procs *procs, bool spare_shepherds)
{
    pid_t *agents = malloc((procs->count + 1) * sizeof(*agents));
    size_t count = 0;
    for (size_t i = 0; agents && i < procs->count; i++) {
        if (procs->list[i].kind != PROC_RANK) {
            agents[count++] = procs->list[i].pid;
        }
    }
    size_t left = agents ? sweep_kill(agents, count, spare_shepherds) : 1;
    free(agents);
    return left;
}

static void signal_kind(const struct procs *procs, enum proc_kind kind, int signal)
{
    for (size_t i = 0; i < procs->count; i++) {
        if (procs->list[i].kind == kind) {
            kill_group(procs->list[i].pid, signal);
        }
    }
}

void procs_kill(struct procs *procs, enum killing killing)
{
    if (procs->killing >= killing) {
        return;
    }
    procs->killing = killing;
    procs->kill_started_us = clock_us();
    procs->steps_signalled = false;
    signal_kind(procs, PROC_RANK, SIGKILL);
    if (killing == KILL_ALL) {
        signal_kind(procs, PROC_AGENT, SIGTERM);
    }
}

/* A daemon that was an agent and has ended leaves its shepherd to us, which ends what that daemon
 * had started: it gets its time too. */
void procs_kill_step(struct procs *procs)
{
    uint64_t age = clock_us() - procs->kill_started_us;
    bool spare_shepherds = age < SHEPHERD_GRACE_US;
    siginfo_t info;
    bool done = age > KILL_LIMIT_US;
    if (procs->killing == KILL_ALL && age >= STEP_GRACE_US && !procs->steps_signalled) {
        procs->steps_signalled = true;
        signal_kind(procs, PROC_STEP, SIGTERM);
    }
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) {
        done = true;
    } else if (procs->killing == KILL_RANKS) {
        done = sweep_ranks(procs, spare_shepherds) == 0 || done;
    } else if (age < AGENT_GRACE_US) {
        sweep_ranks(procs, spare_shepherds);
    } else {
        sweep_kill(NULL, 0, spare_shepherds);
    }
    procs->killing = done ? KILL_NOBODY : procs->killing;
}
