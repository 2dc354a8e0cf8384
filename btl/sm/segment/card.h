/* What a process publishes so that its node's other processes find its segment. 64 bytes,
 * little-endian; a card that comes from elsewhere is hostile until sm_card_decode took it. */
#ifndef BTL_SM_CARD_H
#define BTL_SM_CARD_H

#include <keel/types.h>

#define SM_CARD_BYTES 64
#define SM_CARD_VERSION 1
#define SM_NONCE_BYTES 16

enum sm_backing { SM_BACKING_MEMFD = 1, SM_BACKING_FILE = 2 };

struct sm_card {
    enum sm_backing backing;
    uint32_t pid; /* as its own pid namespace sees it */
    uint32_t fd;  /* of the memfd, in that process */
    uint32_t uid;
    uint64_t start_time;           /* of the process: field 22 of /proc/PID/stat */
    uint64_t size;                 /* of the segment */
    uint8_t nonce[SM_NONCE_BYTES]; /* at the head of the segment */
    uint8_t file[SM_NONCE_BYTES];  /* the random part of the file's name */
};

void sm_card_encode(uint8_t bytes[SM_CARD_BYTES], const struct sm_card *card);
/* BAD_PARAM: another size or version, or values that no card has. */
int sm_card_decode(struct sm_card *card, const void *bytes, size_t size) KEEL_MUST_CHECK;

#endif
