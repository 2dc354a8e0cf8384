/* What a segment of shared memory looks like: all that its owner and its peers have to agree on.
 *
 *   header | board | lines | rings | small fragments | large fragments | regions
 *
 * Everything is written by the owner alone, except the board. Peers map the rest read-only. */
#ifndef BTL_SM_LAYOUT_H
#define BTL_SM_LAYOUT_H

#include <btl/sm/segment/bell.h>
#include <btl/sm/segment/board.h>
#include <btl/sm/segment/card.h>
#include <btl/sm/segment/ring.h>
#include <fcntl.h>

enum sm_area { SM_AREA_RINGS, SM_AREA_SMALL, SM_AREA_LARGE, SM_AREA_REGIONS, SM_AREAS };

/* The numbers that a segment's layout follows from. */
struct sm_shape {
    uint32_t peers; /* cells of the board, lines and rings */
    uint32_t ring_slots;
    uint32_t units[SM_AREAS];      /* rings, fragments and regions */
    uint32_t unit_bytes[SM_AREAS]; /* a multiple of 64 */
};

struct sm_layout {
    size_t board;
    size_t lines;
    size_t start[SM_AREAS];
    size_t end[SM_AREAS];
    size_t size;
};

/* BAD_PARAM: a number out of its range, or more than SM_SEGMENT_MAX bytes in all. */
int sm_layout_make(struct sm_layout *layout, const struct sm_shape *shape) KEEL_MUST_CHECK;
#define SM_SEGMENT_MAX ((uint64_t) 1 << 40)

#define SM_MAGIC 0x4d534c4bu /* "KLSM" */
#define SM_LAYOUT_VERSION 7
/* At the head of a segment. Its owner writes it; all but committed before the card is published. */
struct sm_header {
    uint8_t nonce[SM_NONCE_BYTES];
    uint32_t magic;
    uint32_t version;
    uint64_t nonce_address;
    struct sm_shape shape;
    _Atomic uint64_t committed[SM_AREAS];
    struct sm_alarm alarm __attribute__((aligned(SM_LINE_BYTES))); /* senders look at it */
};

/* Peers read it with acquire, as the owner publishes it with release: so many bytes of the area may
 * be touched. */
static inline uint64_t sm_committed_observe(const struct sm_header *header, enum sm_area area)
{
    return atomic_load_explicit(&header->committed[area], memory_order_acquire);
}

/* A memfd's name, and then the nonce, so that a link in /proc tells whose it is. */
#define SM_MEMFD_NAME "keel-sm-"
#define SM_NONCE_TEXT (2 * SM_NONCE_BYTES + 1)
#define SM_MEMFD_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)
/* The path of a segment that is a file; malloc'd. NULL: no session_dir, or no memory. */
char *sm_file_path(const char *session_dir, const uint8_t name[SM_NONCE_BYTES]);

#endif
