/* The cells of a job: run in every rank at once, one after the other.
 *
 *   keelrun -n N job            all of them
 *   job --list                  the whole matrix as text; fails when a cell is empty */
#include <keel/keel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/rml/cells.h>
#include <time.h>

enum { LIMIT_S = 60, IDLE_ROUNDS = 50 };

orte_process_name_t me, left, right;
uint32_t ranks;
static int done;

void must_hold(bool holds, const char *condition, const char *file, int line)
{
    if (!holds && current) {
        keel_abort(1, "%s, %s, %s: not so: %s (%s:%d)", fn_names[current->fn],
                   flag_names[current->flag], outcome_names[current->outcome], condition, file,
                   line);
    } else if (!holds) {
        keel_abort(1, "not so: %s (%s:%d)", condition, file, line);
    }
}

static time_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

void wait_until(const bool *ended)
{
    time_t limit = now() + LIMIT_S;
    while (!*ended) {
        must(now() < limit);
        if (keel_progress() == 0) {
            nanosleep(&(struct timespec){0, 20000}, NULL);
        }
    }
}

void wait_idly(void)
{
    for (int i = 0; i < IDLE_ROUNDS; i++) {
        (void) keel_progress();
    }
}

void all_together(void)
{
    must(keel_fence() == ORTE_SUCCESS);
}

static void run(const struct cell *cell)
{
    struct filling filling = filling_of(cell);
    current = cell;
    filling.run(cell);
    done++;
}

static void run_together(const struct cell *cell)
{
    if (cell->fn == FINALIZE) {
        return; /* the last, below */
    }
    run(cell);
    all_together(); /* a rank that fails ends the job in this cell */
}

static void join(void)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    options.enable_comm = false;
    options.data_plane = false;
    must(keel_init(&options) == ORTE_SUCCESS);
    me = *keel_my_name();
    ranks = keel_job_size();
    right = (orte_process_name_t){me.jobid, (me.vpid + 1) % ranks};
    left = (orte_process_name_t){me.jobid, (me.vpid + ranks - 1) % ranks};
}

static void run_all(void)
{
    static const struct cell last = {FINALIZE, NO_FLAG, SUCCESS};
    each_cell(IN_JOB, BEFORE_ENABLE, run);
    must(orte_rml.enable_comm() == ORTE_SUCCESS);
    worked_before();
    for (enum outcome outcome = SUCCESS; outcome < OUTCOMES; outcome++) {
        if (outcome != BEFORE_ENABLE && outcome != AFTER_FINALIZE) {
            each_cell(IN_JOB, outcome, run_together);
        }
    }
    run(&last);
    each_cell(IN_JOB, AFTER_FINALIZE, run);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        table_print();
        return table_faults() > 0;
    }
    join();
    must(table_faults() == 0);
    run_all();
    current = NULL;
    if (me.vpid == 0) {
        printf("%d cells of %d ranks hold\n", done, ranks);
    }
    (void) keel_finalize(); /* the RML has ended: nobody can be waited for */
    return 0;
}
