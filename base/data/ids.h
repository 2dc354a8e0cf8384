/* Objects by numbers that mean nothing to others: what goes to a peer and comes back in place of a
 * pointer. A number is {generation 32 bits, index 32 bits}; it is stale from ids_remove on, also
 * when its place is used again. Not thread safe. */
#ifndef BASE_IDS_H
#define BASE_IDS_H

#include <keel/types.h>

struct ids_slot {
    void *object;        /* borrowed; NULL: free */
    uint32_t generation; /* of the object, or of the next one */
    uint32_t next;       /* free: the next free one, as index + 1; 0: the last */
};

struct ids {
    struct ids_slot *slots; /* owned */
    uint32_t count, room;   /* slots: ever used, allocated */
    uint32_t free;          /* as ids_slot.next */
    uint32_t first;         /* generation of new slots */
};

/* first: a random number, so that numbers of a process that is gone are stale in this one. */
void ids_init(struct ids *ids, uint32_t first);
void ids_fini(struct ids *ids);
/* False: no memory. */
bool ids_add(struct ids *ids, void *object, uint64_t *id) KEEL_MUST_CHECK;
/* NULL: there is none of this number. */
void *ids_find(const struct ids *ids, uint64_t id);
/* Nothing happens if there is none. */
void ids_remove(struct ids *ids, uint64_t id);

#endif
