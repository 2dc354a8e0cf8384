/* opal_bitmap_t: a growing set of small integers. One thread at a time. */
#ifndef KEEL_BITMAP_H
#define KEEL_BITMAP_H

#include <keel/object.h>

BEGIN_C_DECLS

struct opal_bitmap_t {
    opal_object_t super;
    uint64_t *bitmap; /* owned */
    int array_size;   /* elements of bitmap */
    int max_size;     /* most elements that it may grow to */
};
typedef struct opal_bitmap_t opal_bitmap_t;
extern const opal_class_t opal_bitmap_t_class KEEL_PUBLIC(opal_bitmap_t_class);

/* Returns: OPAL_SUCCESS; OPAL_ERR_BAD_PARAM for NULL or a negative bit; OPAL_ERR_OUT_OF_RESOURCE
 * without memory or above the maximum. set_bit grows the bitmap; a bit beyond the end is not set.
 */
int opal_bitmap_init(opal_bitmap_t *bm, int size) KEEL_PUBLIC(opal_bitmap_init);
int opal_bitmap_set_max_size(opal_bitmap_t *bm, int max_size) KEEL_PUBLIC(opal_bitmap_set_max_size);
int opal_bitmap_set_bit(opal_bitmap_t *bm, int bit) KEEL_PUBLIC(opal_bitmap_set_bit);
int opal_bitmap_clear_bit(opal_bitmap_t *bm, int bit) KEEL_PUBLIC(opal_bitmap_clear_bit);
bool opal_bitmap_is_set_bit(const opal_bitmap_t *bm, int bit) KEEL_PUBLIC(opal_bitmap_is_set_bit);
int opal_bitmap_clear_all_bits(opal_bitmap_t *bm) KEEL_PUBLIC(opal_bitmap_clear_all_bits);
int opal_bitmap_set_all_bits(opal_bitmap_t *bm) KEEL_PUBLIC(opal_bitmap_set_all_bits);
int opal_bitmap_find_and_set_first_unset_bit(opal_bitmap_t *bm, int *position)
    KEEL_PUBLIC(opal_bitmap_find_and_set_first_unset_bit);

END_C_DECLS
#endif
