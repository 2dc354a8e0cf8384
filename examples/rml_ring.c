/* rml_ring: a number goes round all ranks, and each adds one. Written as programs for ORTE were:
 * nothing here is Keel's own.
 *
 *   keelrun -n 4 rml_ring [ROUNDS]     the rounds (default 3); exits with 1 if the sum is wrong */
#include "orte_config.h"

#include <stdio.h>
#include <stdlib.h>

#include "orte/mca/errmgr/errmgr.h"
#include "orte/mca/rml/rml.h"
#include "orte/runtime/orte_globals.h"
#include "orte/runtime/runtime.h"
#include "orte/util/name_fns.h"
#include "orte/util/proc_info.h"

#define RING_TAG (ORTE_RML_TAG_MAX + 1)

static orte_process_name_t left, right;

static int pass_on(int number)
{
    struct iovec part;
    int rc;

    part.iov_base = &number;
    part.iov_len = sizeof(number);
    rc = orte_rml.send(&right, &part, 1, RING_TAG, 0);
    if (rc < 0) {
        ORTE_ERROR_LOG(rc);
        return rc;
    }
    return ORTE_SUCCESS;
}

/* The RML allocates the memory, this frees it. */
static int take(int *number)
{
    struct iovec part;
    int rc;

    part.iov_base = NULL;
    part.iov_len = 0;
    rc = orte_rml.recv(&left, &part, 1, RING_TAG, ORTE_RML_ALLOC);
    if (rc < 0) {
        ORTE_ERROR_LOG(rc);
        return rc;
    }
    if (rc != (int) sizeof(*number)) {
        opal_output(0, "%d bytes came from %s", rc, ORTE_NAME_PRINT(&left));
        free(part.iov_base);
        return ORTE_ERR_RECV_LESS_THAN_POSTED;
    }
    *number = *(int *) part.iov_base;
    free(part.iov_base);
    return ORTE_SUCCESS;
}

static int go_round(int rounds, int *sum)
{
    int round, number = 0, rc = ORTE_SUCCESS;

    for (round = 0; round < rounds && rc == ORTE_SUCCESS; round++) {
        if (ORTE_PROC_MY_NAME->vpid == 0) { /* begins each round, and ends it */
            rc = pass_on(number + 1);
            if (rc == ORTE_SUCCESS) {
                rc = take(&number);
            }
        } else {
            rc = take(&number);
            if (rc == ORTE_SUCCESS) {
                rc = pass_on(number + 1);
            }
        }
    }
    *sum = number;
    return rc;
}

int main(int argc, char **argv)
{
    int rc, sum = 0, wrong = 0;
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    orte_vpid_t ranks;

    if (rounds < 1) {
        fprintf(stderr, "usage: rml_ring [ROUNDS], at least 1\n");
        return 2;
    }
    rc = orte_init(&argc, &argv, ORTE_PROC_NON_MPI);
    if (rc != ORTE_SUCCESS) {
        fprintf(stderr, "rml_ring: orte_init: %s\n", ORTE_ERROR_NAME(rc));
        return 1;
    }
    ranks = orte_process_info.num_procs;
    left.jobid = right.jobid = ORTE_PROC_MY_NAME->jobid;
    right.vpid = (ORTE_PROC_MY_NAME->vpid + 1) % ranks;
    left.vpid = (ORTE_PROC_MY_NAME->vpid + ranks - 1) % ranks;

    rc = go_round(rounds, &sum);
    if (rc == ORTE_SUCCESS && ORTE_PROC_MY_NAME->vpid == 0) {
        wrong = sum != rounds * (int) ranks;
        printf("%s: %d rounds over %u ranks on %d nodes, the number is %d, %s\n",
               ORTE_NAME_PRINT(ORTE_PROC_MY_NAME), rounds, (unsigned) ranks,
               orte_process_info.num_nodes, sum, wrong ? "WRONG" : "ok");
    }
    if (rc != ORTE_SUCCESS) {
        orte_errmgr.abort(1, "the ring is broken: %s", ORTE_ERROR_NAME(rc));
    }
    rc = orte_finalize();
    return rc != ORTE_SUCCESS || wrong;
}
