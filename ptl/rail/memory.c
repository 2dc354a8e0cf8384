#include <config.h>

#include <base/data/least.h>
#include <ptl/rail/memory.h>
#include <stdlib.h>
#include <string.h>

struct grant {
    struct list link;
    struct rail_module *module;
    mca_btl_base_registration_handle_t *registration; /* NULL: the module needs none */
    size_t offset, size, left; /* of a piece: in the message; bytes that have not come; else 0 */
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

struct rail_memory *rail_memory_add(struct list *memories, const struct rail_module *module,
                                    size_t offset, size_t size)
{
    const mca_btl_base_module_t *btl = module->btl;
    size_t handle_size = btl->btl_register_mem ? btl->btl_registration_handle_size : 0;
    struct rail_memory *memory = calloc(1, sizeof(*memory) + handle_size);
    if (memory) {
        memory->module = module;
        memory->handle_size = (uint16_t) handle_size;
        memory->offset = offset;
        memory->size = memory->left = size;
        list_append(memories, &memory->link);
    }
    return memory;
}

struct rail_memory *rail_memory_by(struct list *memories, const struct rail_module *module)
{
    struct rail_memory *memory = rail_memory_find(memories, module);
    return memory ? memory : rail_memory_add(memories, module, 0, SIZE_MAX);
}

struct rail_memory *rail_memory_at(const struct list *memories, const struct rail_module *module,
                                   size_t offset)
{
    struct rail_memory *memory;
    list_for_each (memory, memories, struct rail_memory, link) {
        if (memory->module == module && offset >= memory->offset &&
            offset - memory->offset < memory->size) {
            return memory;
        }
    }
    return NULL;
}

void rail_memory_filled(struct rail_memory *memory, size_t size)
{
    memory->left -= least(size, memory->left);
    if (memory->left == 0) {
        rail_memory_end(memory);
    }
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
        if (grant->module == module && grant->size == 0) {
            return grant;
        }
    }
    return NULL;
}

static void grant_end(struct grant *grant)
{
    mca_btl_base_module_t *btl = grant->module->btl;
    if (grant->registration) {
        (void) btl->btl_deregister_mem(btl, grant->registration);
    }
    list_remove(&grant->link);
    free(grant);
}

/* NULL: no memory, or no handle. */
static struct grant *grant_create(struct list *grants, struct rail_module *module,
                                  struct mca_btl_base_endpoint_t *endpoint, void *memory,
                                  size_t size, uint32_t access)
{
    mca_btl_base_module_t *btl = module->btl;
    struct grant *grant = calloc(1, sizeof(*grant));
    if (grant && btl->btl_register_mem) {
        endpoint = module->pins ? MCA_BTL_ENDPOINT_ANY : endpoint;
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

/* memory: where the message's first byte is. */
static void grant_name(const struct grant *grant, const void *memory, struct rail_header *header)
{
    header->address = (uintptr_t) memory;
    header->handle = grant->registration;
    header->handle_size =
        grant->registration ? (uint16_t) grant->module->btl->btl_registration_handle_size : 0;
}

bool rail_grant(struct list *grants, struct rail_module *module,
                struct mca_btl_base_endpoint_t *endpoint, void *memory, size_t size,
                uint32_t access, struct rail_header *header)
{
    const struct grant *grant = grant_find(grants, module);
    if (!grant && !(grant = grant_create(grants, module, endpoint, memory, size, access))) {
        return false;
    }
    grant_name(grant, memory, header);
    return true;
}

bool rail_grant_piece(struct list *grants, struct rail_module *module, void *memory, size_t offset,
                      size_t size, struct rail_header *header)
{
    struct grant *grant =
        grant_create(grants, module, MCA_BTL_ENDPOINT_ANY, (char *) memory + offset, size,
                     MCA_BTL_REG_FLAG_REMOTE_WRITE);
    if (!grant) {
        return false;
    }
    grant->offset = offset;
    grant->size = grant->left = size;
    grant_name(grant, memory, header);
    return true;
}

size_t rail_grants_open(const struct list *grants, const struct rail_module *module)
{
    const struct grant *grant;
    size_t open = 0;
    list_for_each (grant, grants, const struct grant, link) {
        open += grant->module == module ? grant->size : 0;
    }
    return open;
}

/* How many bytes of a piece are among these. */
static size_t common(const struct grant *grant, size_t offset, size_t size)
{
    const size_t from = offset > grant->offset ? offset : grant->offset;
    const size_t to = least(offset + size, grant->offset + grant->size);
    return from < to ? to - from : 0;
}

void rail_grants_came(struct list *grants, size_t offset, size_t size)
{
    struct grant *grant;
    list_for_each (grant, grants, struct grant, link) {
        const size_t came = common(grant, offset, size);
        grant->left -= least(came, grant->left);
        if (came > 0 && grant->left == 0) {
            grant_end(grant);
        }
    }
}

void rail_grants_end(struct list *grants)
{
    while (!list_empty(grants)) {
        grant_end(container_of(grants->next, struct grant, link));
    }
}
