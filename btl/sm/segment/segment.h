/* A process's own segment of shared memory.
 *
 * It is a sealed memfd, or a file of mode 0600 where the memfd could not be opened through /proc.
 * Its size is fixed; memory is given to it area by area, before anybody touches it, so that a full
 * memory limit is an error of one call and never a SIGBUS. Nothing of a memfd has a name. */
#ifndef BTL_SM_SEGMENT_H
#define BTL_SM_SEGMENT_H

#include <btl/sm/segment/layout.h>

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
    struct sm_alarm *alarm; /* zero: its owner never sleeps */
    struct sm_card card;
};

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

#endif
