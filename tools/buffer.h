/* The memory whose bytes a measurement moves. The kernel's copies between processes take about
 * twice as long over small pages, so all that are compared have huge ones, as ucx_perftest has. */
#ifndef TOOLS_BUFFER_H
#define TOOLS_BUFFER_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* So many bytes of a value, from the start of a page; in huge pages, where they fill one and the
 * kernel has any. NULL: no memory. The caller frees it. */
static inline void *buffer_create(size_t size, int value)
{
    const size_t small = 4096, huge = 2 << 20, page = size < huge ? small : huge;
    const size_t room = (size / page + 1) * page;
    void *memory = aligned_alloc(page, room);
    if (memory) {
        (void) (page == huge && madvise(memory, room, MADV_HUGEPAGE));
        memset(memory, value, size);
    }
    return memory;
}

#endif
