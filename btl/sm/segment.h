/* A process's segment of shared memory, and a peer's as seen from here.
 *
 * A segment is a sealed memfd, or a file of mode 0600 where the memfd could not be opened through
 * /proc. Its size is fixed; memory is given to it area by area, before anybody touches it, so that
 * a full memory limit is an error of one call and never a SIGBUS. Nothing of a memfd has a name.
 *
 *   header | board | lines | rings | small fragments | large fragments | regions
 *
 * Everything is written by the owner alone, except the board. Peers map the rest read-only. */
#ifndef BTL_SM_SEGMENT_H
#define BTL_SM_SEGMENT_H

#include <btl/sm/bell.h>
#include <btl/sm/board.h>
#include <btl/sm/card.h>
#include <btl/sm/ring.h>

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

enum sm_backing_choice { SM_BACKING_CHOICE_AUTO, SM_BACKING_CHOICE_MEMFD, SM_BACKING_CHOICE_FILE };

struct sm_segment {
    int fd;
    char *path; /* owned; of a file, else NULL */
    unsigned char *base;
    struct sm_shape shape;
    struct sm_layout layout;
    struct sm_header *header;
    struct sm_board *board;
    struct sm_line *lines;
    struct sm_alarm *alarm;    /* zero: its owner never sleeps */
    _Atomic uint32_t *putting; /* 0, or a cell of the board, plus 1: see recall.h */
    struct sm_card card;
};

struct sm_peer {
    unsigned char *base; /* read-only, but for the board */
    struct sm_shape shape;
    struct sm_layout layout;
    const struct sm_header *header;
    struct sm_board *board;
    const struct sm_line *lines;
    const _Atomic uint32_t *putting;
    struct sm_ringer ringer;
    size_t committed[SM_AREAS]; /* as last read: bytes of the area that are there */
    uint64_t nonce_address;     /* where its owner has the nonce: hostile */
};

/* BAD_PARAM: a number out of its range, or more than SM_SEGMENT_MAX bytes in all. */
int sm_layout_make(struct sm_layout *layout, const struct sm_shape *shape) KEEL_MUST_CHECK;
#define SM_SEGMENT_MAX ((uint64_t) 1 << 40)

/* session_dir: for a file; NULL: no file. On an error reason tells why. */
int sm_segment_create(struct sm_segment **segment, const struct sm_shape *shape,
                      enum sm_backing_choice choice, const char *session_dir, char *reason,
                      size_t reason_size) KEEL_MUST_CHECK;
void sm_segment_destroy(struct sm_segment *segment);
/* Puts a segment of the same shape in its place, at the same address and with another card, for a
 * process that was restarted: fragments and regions are as they were, board, lines and rings are
 * new. Peers that map the old one keep it. An error leaves the old one. */
int sm_segment_renew(struct sm_segment *segment, enum sm_backing_choice choice,
                     const char *session_dir, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* Makes the first count units of an area usable. OUT_OF_RESOURCE: no memory, or there are fewer. */
int sm_segment_commit(struct sm_segment *segment, enum sm_area area,
                      uint32_t count) KEEL_MUST_CHECK;
void *sm_segment_unit(const struct sm_segment *segment, enum sm_area area, uint32_t index);

/* Whether the card is that of a process whose segment can be opened from here; costs a system call.
 */
bool sm_peer_reachable(const struct sm_card *card, const char *session_dir);
/* Opens and maps a peer's segment and compares the nonce. */
int sm_peer_attach(struct sm_peer **peer, const struct sm_card *card, const char *session_dir,
                   char *reason, size_t reason_size) KEEL_MUST_CHECK;
void sm_peer_detach(struct sm_peer *peer);
/* length bytes at an offset of the segment, if they lie in that area and are committed; else NULL.
 * Both numbers come from the peer. */
const void *sm_peer_span(struct sm_peer *peer, enum sm_area area, uint64_t offset, uint64_t length);

#endif
