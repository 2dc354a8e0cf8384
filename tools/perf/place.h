/* Where a rank runs. */
#ifndef TOOLS_PERF_PLACE_H
#define TOOLS_PERF_PLACE_H

#include <stdbool.h>

struct place {
    char host[64], model[96], kernel[96]; /* text from the system, cut where it is too long */
    char processors[96];                  /* those that it may use, as 0-3,8 */
    long online;                          /* processors of the host */
    bool pinned_here;                     /* by place_pin */
};

/* Binds this process to one processor, its rank's on this node, unless somebody bound it already
 * or there are fewer processors than ranks on the node. */
void place_pin(struct place *place);
void place_describe(struct place *place);

#endif
