/* Entries of a lookup's answer, written by the daemon that keeps the names and read by the module
 * of any: u32 rank, u32 sizes of value, namespace and key, all little-endian; namespace and key,
 * each with its ending zero; the value. Linked into daemon and module. */
#include <config.h>

#include <endian.h>
#include <launcher/pmix/pmix_module.h>
#include <string.h>

struct entry_head {
    uint32_t rank, size, nspace_size, key_size;
};

size_t pmix_found_put(uint8_t *to, const struct pmix_found *found)
{
    uint32_t nspace_size = (uint32_t) strlen(found->publisher.nspace) + 1;
    uint32_t key_size = (uint32_t) strlen(found->key) + 1;
    struct entry_head head = {htole32(found->publisher.rank), htole32((uint32_t) found->size),
                              htole32(nspace_size), htole32(key_size)};
    if (to) {
        memcpy(to, &head, sizeof(head));
        to += sizeof(head);
        memcpy(to, found->publisher.nspace, nspace_size);
        to += nspace_size;
        memcpy(to, found->key, key_size);
        to += key_size;
        memcpy(to, found->value, found->size);
    }
    return sizeof(head) + nspace_size + key_size + found->size;
}

static bool is_text(const uint8_t *bytes, size_t size)
{
    return size > 0 && memchr(bytes, '\0', size) == bytes + size - 1;
}

bool pmix_found_next(const uint8_t **data, size_t *size, struct pmix_found *found)
{
    struct entry_head head;
    if (*size < sizeof(head)) {
        return false;
    }
    memcpy(&head, *data, sizeof(head));
    head = (struct entry_head){le32toh(head.rank), le32toh(head.size), le32toh(head.nspace_size),
                               le32toh(head.key_size)};
    const uint8_t *nspace = *data + sizeof(head);
    size_t left = *size - sizeof(head);
    if (head.nspace_size > left || head.nspace_size > sizeof(found->publisher.nspace) ||
        head.key_size > left - head.nspace_size ||
        head.size > left - head.nspace_size - head.key_size || !is_text(nspace, head.nspace_size) ||
        !is_text(nspace + head.nspace_size, head.key_size)) {
        return false;
    }
    memset(&found->publisher, 0, sizeof(found->publisher));
    memcpy(found->publisher.nspace, nspace, head.nspace_size);
    found->publisher.rank = head.rank;
    found->key = (const char *) nspace + head.nspace_size;
    found->value = nspace + head.nspace_size + head.key_size;
    found->size = head.size;
    size_t used = sizeof(head) + head.nspace_size + head.key_size + head.size;
    *data += used;
    *size -= used;
    return true;
}
