#include <config.h>

#include <ptl/rail/memory.h>
#include <stdlib.h>
#include <string.h>

struct grant {
    struct list link;
    struct rail_module *module;
    mca_btl_base_registration_handle_t *registration; /* NULL: the module needs none */
};

void *rail_memory_of(const opal_convertor_t *convertor)
{
    opal_convertor_t whole = *convertor;
    size_t start = 0, size;
    opal_convertor_set_position(&whole, &start);
    size = opal_convertor_get_packed_size(&whole);
    return opal_convertor_need_buffers(&whole, size) ? NULL : opal_convertor_current(&whole, &size);
}

/* --- the peer's --- */

struct rail_memory *rail_memory_find(const struct list *memories, const struct rail_module *module)
{
    struct rail_memory *memory;
    list_for_each (memory, memories, struct rail_memory, link) {
        if (memory->module == module) {
            return memory;
        }
    }
    return NULL;
}

struct rail_memory *rail_memory_by(struct list *memories, const struct rail_module *module)
{
    struct rail_memory *memory = rail_memory_find(memories, module);
    const mca_btl_base_module_t *btl = module->btl;
    size_t handle_size = btl->btl_register_mem ? btl->btl_registration_handle_size : 0;
    if (!memory && (memory = calloc(1, sizeof(*memory) + handle_size))) {
        memory->module = module;
        memory->handle_size = (uint16_t) handle_size;
        list_append(memories, &memory->link);
    }
    return memory;
}

void rail_memory_set(struct rail_memory *memory, const struct rail_header *header)
{
    memory->state = RAIL_MEMORY_THERE;
    memory->address = header->address;
    if (memory->handle_size > 0) {
        memcpy(memory->handle, header->handle, memory->handle_size);
    }
}

void rail_memory_end(struct rail_memory *memory)
{
    list_remove(&memory->link);
    free(memory);
}

void rail_memories_end(struct list *memories)
{
    while (!list_empty(memories)) {
        rail_memory_end(container_of(memories->next, struct rail_memory, link));
    }
}

/* --- this process's --- */

static struct grant *grant_find(const struct list *grants, const struct rail_module *module)
{
    struct grant *grant;
    list_for_each (grant, grants, struct grant, link) {
        if (grant->module == module) {
            return grant;
        }
    }
    return NULL;
}

/* NULL: no memory, or no handle. */
static struct grant *grant_create(struct list *grants, struct rail_module *module,
                                  struct mca_btl_base_endpoint_t *endpoint, void *memory,
                                  size_t size, uint32_t access)
{
    mca_btl_base_module_t *btl = module->btl;
    struct grant *grant = calloc(1, sizeof(*grant));
    if (grant && btl->btl_register_mem) {
        grant->registration = btl->btl_register_mem(btl, endpoint, memory, size, access);
        if (!grant->registration) {
            free(grant);
            return NULL;
        }
    }
    if (grant) {
        grant->module = module;
        list_append(grants, &grant->link);
    }
    return grant;
}

bool rail_grant(struct list *grants, struct rail_module *module,
                struct mca_btl_base_endpoint_t *endpoint, void *memory, size_t size,
                uint32_t access, struct rail_header *header)
{
    const struct grant *grant = grant_find(grants, module);
    if (!grant && !(grant = grant_create(grants, module, endpoint, memory, size, access))) {
        return false;
    }
    header->address = (uintptr_t) memory;
    header->handle = grant->registration;
    header->handle_size =
        grant->registration ? (uint16_t) module->btl->btl_registration_handle_size : 0;
    return true;
}

void rail_grants_end(struct list *grants)
{
    for (struct list *link; (link = list_pop(grants));) {
        struct grant *grant = container_of(link, struct grant, link);
        mca_btl_base_module_t *btl = grant->module->btl;
        if (grant->registration) {
            (void) btl->btl_deregister_mem(btl, grant->registration);
        }
        free(grant);
    }
}
