#include <config.h>

#include <rml/message/assemble.h>

#include <base/data/bytes.h>
#include <string.h>

void rml_assembly_abandon(struct rml_assembly *assembly)
{
    rml_message_destroy(assembly->message);
    *assembly = (struct rml_assembly){.message = NULL};
}

void rml_assembly_skip(struct rml_assembly *assembly, const struct rml_header *header)
{
    rml_assembly_abandon(assembly);
    assembly->skipping = !rml_header_last(header);
}

static int grow(struct rml_assembly *assembly, size_t needed)
{
    if (needed <= assembly->capacity) {
        return ORTE_SUCCESS;
    }
    uint8_t *data =
        bytes_grow(assembly->message->data, &assembly->capacity, needed, needed, assembly->total);
    if (!data) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    assembly->message->data = data;
    return ORTE_SUCCESS;
}

static int begin(struct rml_assembly *assembly, const struct rml_header *header)
{
    struct rml_info info = {header->origin, header->role, header->tag, header->stamp.class};
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
    return message && header->offset == message->size && header->total == assembly->total &&
           header->tag == message->info.tag && header->role == message->info.role &&
           header->format == message->format;
}

enum rml_assembled rml_assemble(struct rml_assembly *assembly, const struct rml_header *header,
                                const void *payload, struct rml_message **message)
{
    bool first = rml_header_first(header);
    if (assembly->skipping && !first) {
        assembly->skipping = !rml_header_last(header);
        return RML_ASSEMBLED_MORE;
    }
    if (first ? assembly->message != NULL : !continues(assembly, header)) {
        rml_assembly_skip(assembly, header);
        return RML_ASSEMBLED_BROKEN;
    }
    assembly->skipping = false;
    if ((first && begin(assembly, header) != ORTE_SUCCESS) ||
        append(assembly, payload, header->stamp.length) != ORTE_SUCCESS) {
        rml_assembly_skip(assembly, header);
        return RML_ASSEMBLED_NO_MEMORY;
    }
    if (!rml_header_last(header)) {
        return RML_ASSEMBLED_MORE;
    }
    *message = assembly->message;
    *assembly = (struct rml_assembly){.message = NULL};
    return RML_ASSEMBLED_WHOLE;
}
