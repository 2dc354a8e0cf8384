#include <config.h>

#include <rml/assemble.h>
#include <stdlib.h>
#include <string.h>

void rml_assembly_abandon(struct rml_assembly *assembly)
{
    rml_message_destroy(assembly->message);
    assembly->message = NULL;
    assembly->total = 0;
    assembly->capacity = 0;
}

void rml_assembly_reset(struct rml_assembly *assembly)
{
    rml_assembly_abandon(assembly);
    assembly->next = 0;
}

void rml_assembly_skip(struct rml_assembly *assembly, uint64_t sequence)
{
    if (sequence == assembly->next) {
        rml_assembly_abandon(assembly);
        assembly->next++;
    }
}

static int grow(struct rml_assembly *assembly, size_t needed)
{
    if (needed <= assembly->capacity) {
        return ORTE_SUCCESS;
    }
    size_t capacity = assembly->capacity * 2 > needed ? assembly->capacity * 2 : needed;
    capacity = capacity < assembly->total ? capacity : assembly->total;
    uint8_t *data = realloc(assembly->message->data, capacity);
    if (!data) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    assembly->message->data = data;
    assembly->capacity = capacity;
    return ORTE_SUCCESS;
}

static int begin(struct rml_assembly *assembly, const struct rml_header *header)
{
    struct rml_info info = {header->origin, header->role, header->tag, header->class};
    assembly->message = rml_message_create(&info, header->format, NULL, 0);
    assembly->total = header->total;
    return assembly->message ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int append(struct rml_assembly *assembly, const void *payload, size_t length)
{
    struct rml_message *message = assembly->message;
    int status = grow(assembly, message->size + length);
    if (status == ORTE_SUCCESS && length > 0) {
        memcpy(message->data + message->size, payload, length);
        message->size += length;
    }
    return status;
}

static bool continues(const struct rml_assembly *assembly, const struct rml_header *header)
{
    const struct rml_message *message = assembly->message;
    return message && header->sequence == assembly->next && header->offset == message->size &&
           header->total == assembly->total && header->tag == message->info.tag &&
           header->role == message->info.role && header->format == message->format;
}

/* A frame that begins a message: what is under way and what is missing before it is lost. */
static void advance(struct rml_assembly *assembly, uint64_t sequence, uint64_t *lost)
{
    rml_assembly_abandon(assembly);
    *lost = sequence - assembly->next;
    assembly->next = sequence;
}

enum rml_assembled rml_assemble(struct rml_assembly *assembly, const struct rml_header *header,
                                const void *payload, struct rml_message **message, uint64_t *lost)
{
    *lost = 0;
    if (header->sequence < assembly->next) {
        return RML_ASSEMBLED_OLD;
    }
    if (rml_header_first(header)) {
        if (assembly->message && header->sequence == assembly->next) {
            return RML_ASSEMBLED_BROKEN; /* begins anew what is under way */
        }
        advance(assembly, header->sequence, lost);
        if (begin(assembly, header) != ORTE_SUCCESS) {
            return RML_ASSEMBLED_NO_MEMORY;
        }
    } else if (!continues(assembly, header)) {
        return RML_ASSEMBLED_BROKEN;
    }
    if (append(assembly, payload, header->length) != ORTE_SUCCESS) {
        rml_assembly_abandon(assembly);
        return RML_ASSEMBLED_NO_MEMORY;
    }
    if (!rml_header_last(header)) {
        return RML_ASSEMBLED_MORE;
    }
    *message = assembly->message;
    assembly->message = NULL;
    assembly->total = 0;
    assembly->capacity = 0;
    assembly->next++;
    return RML_ASSEMBLED_WHOLE;
}
