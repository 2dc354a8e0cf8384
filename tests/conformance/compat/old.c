#include "old.h"

int failures;

void check(bool right, const char *what, const char *file, int line)
{
    if (!right) {
        failures++;
        opal_output(0, "%s:%d: not so: %s", file, line, what);
    }
}

void begin(int *argc, char ***argv)
{
    int rc = orte_init(argc, argv, ORTE_PROC_NON_MPI);
    if (ORTE_SUCCESS != rc) {
        fprintf(stderr, "orte_init: %s\n", ORTE_ERROR_NAME(rc));
        exit(1);
    }
    CHECK(orte_initialized);
    CHECK(!orte_finalizing);
    CHECK(ORTE_PROC_MY_NAME->vpid < orte_process_info.num_procs);
}

int end(void)
{
    CHECK(ORTE_SUCCESS == orte_finalize());
    CHECK(!orte_initialized);
    if (failures > 0) {
        fprintf(stderr, "%d checks failed\n", failures);
    }
    return failures > 0;
}

orte_process_name_t *rank_name(orte_process_name_t *name, orte_vpid_t vpid)
{
    name->jobid = ORTE_PROC_MY_NAME->jobid;
    name->vpid = vpid;
    return name;
}

orte_process_name_t *right_of(orte_process_name_t *name)
{
    return rank_name(name, (ORTE_PROC_MY_NAME->vpid + 1) % orte_process_info.num_procs);
}

orte_process_name_t *left_of(orte_process_name_t *name)
{
    orte_vpid_t ranks = orte_process_info.num_procs;
    return rank_name(name, (ORTE_PROC_MY_NAME->vpid + ranks - 1) % ranks);
}
