/* Fuzz targets: each file has one function that takes any bytes, and asserts what must hold for
 * them all. libFuzzer calls it with bytes of its own (make fuzz); the driver in replay.c with those
 * of the corpus (make check). */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <keel/types.h>

/* The target. The bytes lie in memory of exactly this size. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Once before the first bytes; the same for all targets. Returns 0. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What must hold. If it does not, the program ends by SIGABRT. */
void fuzz_check(bool holds, const char *what);

/* Bytes that are used up from the front. */
struct feed {
    const uint8_t *at;
    size_t left;
};

/* 0 once there are none. */
uint8_t feed_byte(struct feed *feed);
uint32_t feed_u32(struct feed *feed);
uint64_t feed_u64(struct feed *feed);
/* As many as are there, at most wish; *size says how many. */
const uint8_t *feed_bytes(struct feed *feed, size_t wish, size_t *size);
/* A copy in memory of exactly its size (malloc'd, also for 0), so that a sanitizer sees the first
 * byte too many. */
uint8_t *feed_copy(struct feed *feed, size_t wish, size_t *size);
/* All that is left, as a malloc'd string of exactly its length. */
char *feed_text(struct feed *feed);

#endif
