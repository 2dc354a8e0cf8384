/* A ring as programs for 1.3 and 1.4 had it: the other opal_init and orte_init, headers that 1.6
 * has not, memory from the library. */
#define KEEL_COMPAT_ORTE_1_3

#include "orte_config.h"

#include "opal/runtime/opal.h"
#include "orte/mca/oob/base/base.h"
#include "orte/mca/rml/rml.h"
#include "orte/runtime/orte_globals.h"
#include "orte/runtime/runtime.h"
#include "orte/util/name_fns.h"
#include "orte/util/proc_info.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    orte_process_name_t left, right;
    struct iovec msg;
    int counter = (int) getpid(), came;
    orte_vpid_t ranks;

    if (OPAL_SUCCESS != opal_init_util() || OPAL_SUCCESS != opal_init()) {
        return 6;
    }
    if (ORTE_SUCCESS != orte_init(ORTE_NON_TOOL)) {
        return 1;
    }
    if (orte_process_info.nodeid >= (orte_nodeid_t) orte_process_info.num_nodes) {
        return 7;
    }
    ranks = orte_process_info.num_procs;
    left = right = *ORTE_PROC_MY_NAME;
    right.vpid = (right.vpid + 1) % ranks;
    left.vpid = (left.vpid + ranks - 1) % ranks;
    msg.iov_base = (void *) &counter;
    msg.iov_len = sizeof(counter);
    if (0 > orte_rml.send(&right, &msg, 1, 12345, 0)) {
        return 2;
    }
    msg.iov_base = NULL;
    msg.iov_len = 0;
    if (sizeof(came) != orte_rml.recv(&left, &msg, 1, 12345, ORTE_RML_ALLOC)) {
        return 3;
    }
    came = *(int *) msg.iov_base;
    free(msg.iov_base);
    if (came <= 0 || (ranks == 1 && came != counter) || ORTE_PROC_IS_TOOL) {
        return 4;
    }
    if (ORTE_SUCCESS != orte_finalize()) {
        return 5;
    }
    return OPAL_SUCCESS == opal_finalize() && OPAL_SUCCESS == opal_finalize_util() ? 0 : 8;
}
