/* Keel and Open MPI in one process, each as a job of one: both work at once, whichever begins
 * first. Open MPI's libraries export orte_rml, opal_dss and more; libkeel's names must not be taken
 * for them. coexist mpi|keel says who begins; with -DBY_DLOPEN the Keel half is loaded from
 * argv[2].
 *
 * MPI_Finalize of Open MPI 4.1 unloads its components while an event of one of them may still be
 * queued for its own thread, which then crashes, now and then: here nothing is unloaded. */
#include "coexist.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *(*begin)(void), *(*use)(void), *(*end)(void);
} keel;

int dlclose(void *handle)
{
    (void) handle;
    return 0;
}

#ifdef BY_DLOPEN
static void load(const char *path)
{
    void *half = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (half) {
        *(void **) &keel.begin = dlsym(half, "keel_half_begin");
        *(void **) &keel.use = dlsym(half, "keel_half_use");
        *(void **) &keel.end = dlsym(half, "keel_half_end");
    }
    if (!half || !keel.begin || !keel.use || !keel.end) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
}
#else
static void load(const char *path)
{
    (void) path;
    keel.begin = keel_half_begin;
    keel.use = keel_half_use;
    keel.end = keel_half_end;
}
#endif

static void need(const char *wrong)
{
    if (wrong) {
        fprintf(stderr, "wrong: %s\n", wrong);
        exit(1);
    }
}

static const char *use_mpi(void)
{
    int mine = 20, sum = 0, sent = 7, received = 0;
    MPI_Request request;
    if (MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF) != MPI_SUCCESS ||
        sum != mine) {
        return "MPI_Allreduce";
    }
    if (MPI_Irecv(&received, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request) != MPI_SUCCESS ||
        MPI_Send(&sent, 1, MPI_INT, 0, 5, MPI_COMM_SELF) != MPI_SUCCESS ||
        MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS || received != sent) {
        return "an MPI message";
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int keel_first = argc > 1 && strcmp(argv[1], "keel") == 0;
    if (keel_first) {
        load(argv[argc - 1]);
        need(keel.begin());
    }
    need(MPI_Init(&argc, &argv) == MPI_SUCCESS ? NULL : "MPI_Init");
    if (!keel_first) {
        load(argv[argc - 1]);
        need(keel.begin());
    }
    for (int i = 0; i < 100; i++) {
        need(keel.use());
        need(use_mpi());
    }
    if (keel_first) {
        need(keel.end());
        need(use_mpi());
    }
    need(MPI_Finalize() == MPI_SUCCESS ? NULL : "MPI_Finalize");
    if (!keel_first) {
        need(keel.use());
        need(keel.end());
    }
    printf("both work\n");
    return 0;
}
