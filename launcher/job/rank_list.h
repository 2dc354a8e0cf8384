/* A list of ranks as text. Pure. */
#ifndef LAUNCHER_JOB_RANK_LIST_H
#define LAUNCHER_JOB_RANK_LIST_H

#include <keel/types.h>

/* "rank 3" or "ranks 0, 2-3, 7": those whose flag is set; cut with "..." where it does not fit.
 * Returns how many they are. */
uint32_t rank_list_print(char *text, size_t size, const bool *flags, uint32_t count);

#endif
