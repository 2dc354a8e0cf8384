#include <config.h>

#include <base/types/name.h>
#include <rml/state/circle.h>
#include <stdlib.h>

enum { FIRST_SIZE = 8 };

/* Where the name is, or belongs: at most half of the slots are taken. */
static uint32_t find_slot(const orte_process_name_t *slots, uint32_t size,
                          const orte_process_name_t *name)
{
    uint64_t key = (uint64_t) name->jobid << 32 | name->vpid;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t) (key >> 32) & (size - 1);
    while (slots[slot].jobid != ORTE_JOBID_INVALID && !name_equal(&slots[slot], name)) {
        slot = (slot + 1) & (size - 1);
    }
    return slot;
}

static bool grow(struct rml_circle *circle)
{
    uint32_t size = circle->size ? circle->size * 2 : FIRST_SIZE;
    orte_process_name_t *slots = malloc(size * sizeof(*slots));
    if (!slots) {
        return false;
    }
    for (uint32_t i = 0; i < size; i++) {
        slots[i] = *ORTE_NAME_INVALID;
    }
    for (uint32_t i = 0; i < circle->size; i++) {
        if (circle->slots[i].jobid != ORTE_JOBID_INVALID) {
            slots[find_slot(slots, size, &circle->slots[i])] = circle->slots[i];
        }
    }
    free(circle->slots);
    circle->slots = slots;
    circle->size = size;
    return true;
}

enum rml_circle_added rml_circle_add(struct rml_circle *circle, const orte_process_name_t *name)
{
    if (circle->size > 0) {
        if (name_equal(&circle->slots[circle->last], name)) {
            return RML_CIRCLE_KNOWN;
        }
        uint32_t slot = find_slot(circle->slots, circle->size, name);
        if (circle->slots[slot].jobid != ORTE_JOBID_INVALID) {
            circle->last = slot;
            return RML_CIRCLE_KNOWN;
        }
    }
    if (circle->count >= RML_CIRCLE_MAX ||
        (circle->count + 1 > circle->size / 2 && !grow(circle))) {
        return RML_CIRCLE_FULL;
    }
    circle->last = find_slot(circle->slots, circle->size, name);
    circle->slots[circle->last] = *name;
    circle->count++;
    return RML_CIRCLE_NEW;
}

void rml_circle_each(const struct rml_circle *circle,
                     void (*visit)(void *arg, const orte_process_name_t *name), void *arg)
{
    for (uint32_t i = 0; i < circle->size; i++) {
        if (circle->slots[i].jobid != ORTE_JOBID_INVALID) {
            visit(arg, &circle->slots[i]);
        }
    }
}

void rml_circle_fini(struct rml_circle *circle)
{
    free(circle->slots);
    *circle = (struct rml_circle){0};
}
