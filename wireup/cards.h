/* Cards: what a process publishes about itself under keys, and what it knows of its peers.
 *
 * A set of cards travels as one run of bytes, little-endian: for each card u8 length of the key,
 * the key, u32 size, the data. A collection (everybody's cards) is, for each rank, u32 rank, u32
 * size, the set. Both come from a wire and are checked when they are merged. */
#ifndef WIREUP_CARDS_H
#define WIREUP_CARDS_H

#include <base/data/bytes.h>
#include <keel/types.h>

#define CARD_KEY_MAX 63
#define CARD_SIZE_MAX (64u * 1024u)

/* Is it 1 to 63 printable characters? */
bool cards_key_valid(const char *key);
/* Adds a card to a set. BAD_PARAM: an empty, long or unprintable key, or too much data; EXISTS: the
 * key is in the set. */
int cards_add(struct blob *set, const char *key, const void *data, size_t size) KEEL_MUST_CHECK;
/* Finds a card; *data points into the set. NOT_FOUND, or BAD_PARAM for a malformed set. */
int cards_find(const struct blob *set, const char *key, const uint8_t **data,
               size_t *size) KEEL_MUST_CHECK;
/* Is it a well-formed set? */
int cards_check(const uint8_t *set, size_t size) KEEL_MUST_CHECK;

/* Adds a rank's set to a collection. */
int cards_collect(struct blob *collection, uint32_t rank, const uint8_t *set,
                  size_t size) KEEL_MUST_CHECK;
/* Appends every set of a collection to the sets of its rank (of count ranks). On a malformed
 * collection nothing is appended. */
int cards_merge(struct blob *sets, uint32_t count, const uint8_t *collection,
                size_t size) KEEL_MUST_CHECK;

#endif
