/* What the PMIx clients here share. Each rank checks for itself, loudly; rank 0 says "NAME: N ranks
 * passed" when all have come to the end. */
#ifndef PMIX_TEST_H
#define PMIX_TEST_H

#include <pmix.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;
static uint32_t size; /* of my job */

static inline void check(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %u: failed: %s\n", me.rank, what);
        exit(1);
    }
}

static inline void expect(pmix_status_t wanted, pmix_status_t status, const char *what)
{
    if (status != wanted) {
        fprintf(stderr, "rank %u: %s: %s instead of %s\n", me.rank, what, PMIx_Error_string(status),
                PMIx_Error_string(wanted));
        exit(1);
    }
}

static inline pmix_proc_t proc_of(pmix_rank_t rank)
{
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    return proc;
}

/* A number of a rank, or of the job. */
static inline uint32_t get_number(const char *key, pmix_rank_t rank)
{
    pmix_proc_t proc = proc_of(rank);
    pmix_value_t *value = NULL;
    uint32_t number = UINT32_MAX;
    expect(PMIX_SUCCESS, PMIx_Get(&proc, key, NULL, 0, &value), key);
    switch (value->type) {
    case PMIX_UINT16:
        number = value->data.uint16;
        break;
    case PMIX_UINT32:
        number = value->data.uint32;
        break;
    case PMIX_PROC_RANK:
        number = value->data.rank;
        break;
    default:
        check(false, key);
    }
    PMIX_VALUE_RELEASE(value);
    return number;
}

static inline void begin(void)
{
    expect(PMIX_SUCCESS, PMIx_Init(&me, NULL, 0), "PMIx_Init");
    size = get_number(PMIX_JOB_SIZE, PMIX_RANK_WILDCARD);
}

static inline void fence(void)
{
    expect(PMIX_SUCCESS, PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
}

/* The last thing that a program does. */
static inline int end(const char *name)
{
    fence();
    if (me.rank == 0) {
        printf("%s: %u ranks passed\n", name, size);
    }
    expect(PMIX_SUCCESS, PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    return 0;
}

#endif
