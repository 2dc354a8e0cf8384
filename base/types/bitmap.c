#include <config.h>

#include <keel/bitmap.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

static void bitmap_construct(opal_object_t *object)
{
    opal_bitmap_t *bm = (opal_bitmap_t *) object;
    bm->bitmap = NULL;
    bm->array_size = 0;
    bm->max_size = INT_MAX / WORD_BITS;
}

static void bitmap_destruct(opal_object_t *object)
{
    opal_bitmap_t *bm = (opal_bitmap_t *) object;
    free(bm->bitmap);
    bm->bitmap = NULL;
    bm->array_size = 0;
}

const opal_class_t opal_bitmap_t_class = {
    .cls_name = "opal_bitmap_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_sizeof = sizeof(opal_bitmap_t),
    .cls_construct = bitmap_construct,
    .cls_destruct = bitmap_destruct,
};

static int words_for(int bits)
{
    return bits / WORD_BITS + (bits % WORD_BITS ? 1 : 0);
}

int opal_bitmap_init(opal_bitmap_t *bm, int size)
{
    if (!bm || size < 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    int words = words_for(size);
    if (words > bm->max_size) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    uint64_t *made = NULL;
    if (words > 0 && !(made = calloc((size_t) words, sizeof(*made)))) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    free(bm->bitmap);
    bm->bitmap = made;
    bm->array_size = words;
    return OPAL_SUCCESS;
}

int opal_bitmap_set_max_size(opal_bitmap_t *bm, int max_size)
{
    if (!bm || max_size < 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    bm->max_size = words_for(max_size);
    return OPAL_SUCCESS;
}

/* Grows to at least that many words, by doubling where the maximum allows it. */
static int bitmap_grow(opal_bitmap_t *bm, int words)
{
    if (words > bm->max_size) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    int wanted = bm->array_size <= bm->max_size / 2 ? bm->array_size * 2 : bm->max_size;
    if (wanted < words) {
        wanted = words;
    }
    uint64_t *grown = realloc(bm->bitmap, (size_t) wanted * sizeof(*grown));
    if (!grown) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    memset(grown + bm->array_size, 0, (size_t) (wanted - bm->array_size) * sizeof(*grown));
    bm->bitmap = grown;
    bm->array_size = wanted;
    return OPAL_SUCCESS;
}

int opal_bitmap_set_bit(opal_bitmap_t *bm, int bit)
{
    if (!bm || bit < 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    int word = bit / WORD_BITS;
    if (word >= bm->array_size) {
        int rc = bitmap_grow(bm, word + 1);
        if (rc != OPAL_SUCCESS) {
            return rc;
        }
    }
    bm->bitmap[word] |= (uint64_t) 1 << (bit % WORD_BITS);
    return OPAL_SUCCESS;
}

int opal_bitmap_clear_bit(opal_bitmap_t *bm, int bit)
{
    if (!bm || bit < 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (bit / WORD_BITS < bm->array_size) {
        bm->bitmap[bit / WORD_BITS] &= ~((uint64_t) 1 << (bit % WORD_BITS));
    }
    return OPAL_SUCCESS;
}

bool opal_bitmap_is_set_bit(const opal_bitmap_t *bm, int bit)
{
    if (!bm || bit < 0 || bit / WORD_BITS >= bm->array_size) {
        return false;
    }
    return bm->bitmap[bit / WORD_BITS] >> (bit % WORD_BITS) & 1;
}

static int bitmap_fill(opal_bitmap_t *bm, int byte)
{
    if (!bm) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (bm->array_size > 0) {
        memset(bm->bitmap, byte, (size_t) bm->array_size * sizeof(*bm->bitmap));
    }
    return OPAL_SUCCESS;
}

int opal_bitmap_clear_all_bits(opal_bitmap_t *bm)
{
    return bitmap_fill(bm, 0);
}

int opal_bitmap_set_all_bits(opal_bitmap_t *bm)
{
    return bitmap_fill(bm, 0xff);
}

int opal_bitmap_find_and_set_first_unset_bit(opal_bitmap_t *bm, int *position)
{
    if (!bm || !position) {
        return OPAL_ERR_BAD_PARAM;
    }
    int word = 0;
    while (word < bm->array_size && bm->bitmap[word] == UINT64_MAX) {
        word++;
    }
    int bit = word * WORD_BITS;
    if (word < bm->array_size) {
        bit += __builtin_ctzll(~bm->bitmap[word]);
    }
    int rc = opal_bitmap_set_bit(bm, bit);
    if (rc == OPAL_SUCCESS) {
        *position = bit;
    }
    return rc;
}
