/* A member of a job, for the system tests: joins with keel_init, then does what its first argument
 * says.
 *
 *   member leave          prints its name and leaves
 *   member hang           prints its name and stays until it is killed
 *   member stuck          waits in a fence that rank 1 never comes to
 *   member waits          ranks 0 to 3 wait for messages that never come, each in its way
 *   member fences         passes fences until a peer is lost, then ends with code 9
 *   member kill           rank 1 (or 0, alone) kills itself; the others stay
 *   member exit CODE      ends without keel_finalize
 *   member abort CODE     rank 1 (or 0, alone) calls keel_abort; the others stay
 *   member give-up CODE   the same, without a reason
 */
#include <keel/keel.h>
#include <keel/pml.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void stay(void)
{
    for (;;) {
        pause();
    }
}

/* A receive, or a probe, for good. */
static void await_message(int32_t source, int32_t tag, bool probe)
{
    struct keel_pml_context *world;
    opal_convertor_t data;
    char byte;
    opal_convertor_prepare(&data, &byte, 1);
    if (keel_pml_context_open(0, NULL, keel_job_size(), (int32_t) keel_my_name()->vpid, &world) !=
        ORTE_SUCCESS) {
        return;
    }
    if (probe) {
        (void) keel_pml_probe(world, source, tag, NULL);
    } else {
        (void) keel_pml_recv(world, &data, source, tag, NULL);
    }
}

/* In the RML, when rank 1 has got two messages that it will not receive. */
static void await_in_rml(void)
{
    orte_process_name_t peer = *keel_my_name();
    char byte = 0;
    struct iovec part = {&byte, 1};
    peer.vpid = 1;
    (void) orte_rml.send(&peer, &part, 1, 501, KEEL_RML_DELIVERED);
    (void) orte_rml.send(&peer, &part, 1, 501, KEEL_RML_DELIVERED);
    peer.vpid = 3;
    (void) orte_rml.recv(&peer, &part, 1, 500, 0);
}

static int wait_in_vain(uint32_t rank)
{
    if (rank == 0) {
        await_in_rml();
    } else if (rank == 1) {
        await_message(3, 12, false);
    } else if (rank == 2) {
        await_message(1, 7, true);
    } else {
        await_message(KEEL_PML_ANY_SOURCE, KEEL_PML_ANY_TAG, false);
    }
    return 81;
}

static int pass_fences(void)
{
    signal(SIGTERM, SIG_IGN); /* the end of the job shall come from the fence */
    while (keel_fence() == ORTE_SUCCESS) {
    }
    return 9;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int code = argc > 2 ? atoi(argv[2]) : 0;
    int status = keel_init(NULL);
    if (status != ORTE_SUCCESS) {
        return 77;
    }
    uint32_t rank = keel_my_name()->vpid, size = keel_job_size();
    printf("rank %u of %u\n", rank, size);
    fflush(stdout);
    if (strcmp(what, "leave") == 0) {
        return keel_finalize() == ORTE_SUCCESS ? 0 : 78;
    } else if (strcmp(what, "hang") == 0) {
        stay();
    } else if (strcmp(what, "stuck") == 0 && rank != 1) {
        return keel_fence() == ORTE_SUCCESS ? 79 : 80;
    } else if (strcmp(what, "stuck") == 0) {
        stay();
    } else if (strcmp(what, "waits") == 0) {
        return wait_in_vain(rank);
    } else if (strcmp(what, "fences") == 0) {
        return pass_fences();
    } else if (strcmp(what, "kill") == 0 && (rank == 1 || size == 1)) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(what, "kill") == 0) {
        stay();
    } else if (strcmp(what, "exit") == 0) {
        return code;
    } else if (strcmp(what, "abort") == 0 && (rank == 1 || size == 1)) {
        keel_abort(code, "asked for %d", code);
    } else if (strcmp(what, "give-up") == 0 && (rank == 1 || size == 1)) {
        keel_abort(code, NULL);
    } else if (strcmp(what, "abort") == 0 || strcmp(what, "give-up") == 0) {
        stay();
    }
    return 2;
}
