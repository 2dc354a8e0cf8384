#include <config.h>

#include <wireup/cards.h>

#include <base/data/le.h>
#include <string.h>

/* One card of a set, as it lies there. */
struct card {
    const char *key; /* not ended by a NUL */
    size_t key_size;
    const uint8_t *data;
    size_t size;
};

/* Reads the card at *at and moves on. */
static int next_card(const uint8_t *set, size_t size, size_t *at, struct card *card)
{
    if (*at >= size) {
        return ORTE_ERR_NOT_FOUND;
    }
    size_t left = size - *at;
    size_t key_size = set[*at];
    if (key_size == 0 || key_size > CARD_KEY_MAX || left < 1 + key_size + 4) {
        return ORTE_ERR_BAD_PARAM;
    }
    const uint8_t *key = set + *at + 1;
    size_t data_size = get_le32(key + key_size);
    if (data_size > CARD_SIZE_MAX || left - (1 + key_size + 4) < data_size) {
        return ORTE_ERR_BAD_PARAM;
    }
    *card = (struct card){(const char *) key, key_size, key + key_size + 4, data_size};
    *at += 1 + key_size + 4 + data_size;
    return ORTE_SUCCESS;
}

int cards_check(const uint8_t *set, size_t size)
{
    struct card card;
    size_t at = 0;
    int status;
    do {
        status = next_card(set, size, &at, &card);
    } while (status == ORTE_SUCCESS);
    return status == ORTE_ERR_NOT_FOUND ? ORTE_SUCCESS : status;
}

int cards_find(const struct blob *set, const char *key, const uint8_t **data, size_t *size)
{
    size_t key_size = strlen(key);
    struct card card;
    size_t at = 0;
    int status;
    while ((status = next_card(set->data, set->size, &at, &card)) == ORTE_SUCCESS) {
        if (card.key_size == key_size && memcmp(card.key, key, key_size) == 0) {
            *data = card.data;
            *size = card.size;
            return ORTE_SUCCESS;
        }
    }
    return status;
}

bool cards_key_valid(const char *key)
{
    size_t size = strlen(key);
    for (size_t i = 0; i < size; i++) {
        if (key[i] < 0x21 || key[i] > 0x7e) {
            return false;
        }
    }
    return size > 0 && size <= CARD_KEY_MAX;
}

int cards_add(struct blob *set, const char *key, const void *data, size_t size)
{
    if (!key || !cards_key_valid(key) || size > CARD_SIZE_MAX || (size > 0 && !data)) {
        return ORTE_ERR_BAD_PARAM;
    }
    const uint8_t *present;
    size_t present_size;
    if (cards_find(set, key, &present, &present_size) == ORTE_SUCCESS) {
        return ORTE_EXISTS;
    }
    size_t key_size = strlen(key);
    int status = blob_reserve(set, 1 + key_size + 4 + size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    uint8_t *at = set->data + set->size;
    at[0] = (uint8_t) key_size;
    memcpy(at + 1, key, key_size);
    put_le32(at + 1 + key_size, (uint32_t) size);
    if (size > 0) {
        memcpy(at + 1 + key_size + 4, data, size);
    }
    set->size += 1 + key_size + 4 + size;
    return ORTE_SUCCESS;
}

int cards_collect(struct blob *collection, uint32_t rank, const uint8_t *set, size_t size)
{
    if (size > UINT32_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    uint8_t head[8];
    put_le32(head, rank);
    put_le32(head + 4, (uint32_t) size);
    int status = blob_reserve(collection, sizeof(head) + size);
    if (status == ORTE_SUCCESS) {
        status = blob_append(collection, head, sizeof(head));
    }
    return status == ORTE_SUCCESS ? blob_append(collection, set, size) : status;
}

/* Walks a collection: checks it (sets NULL) or appends it to the sets. */
static int walk_collection(struct blob *sets, uint32_t count, const uint8_t *collection,
                           size_t size)
{
    size_t at = 0;
    while (at < size) {
        if (size - at < 8) {
            return ORTE_ERR_BAD_PARAM;
        }
        uint32_t rank = get_le32(collection + at);
        size_t set_size = get_le32(collection + at + 4);
        at += 8;
        if (rank >= count || size - at < set_size) {
            return ORTE_ERR_BAD_PARAM;
        }
        int status = sets ? blob_append(&sets[rank], collection + at, set_size)
                          : cards_check(collection + at, set_size);
        if (status != ORTE_SUCCESS) {
            return status;
        }
        at += set_size;
    }
    return ORTE_SUCCESS;
}

int cards_merge(struct blob *sets, uint32_t count, const uint8_t *collection, size_t size)
{
    int status = walk_collection(NULL, count, collection, size);
    return status == ORTE_SUCCESS ? walk_collection(sets, count, collection, size) : status;
}
