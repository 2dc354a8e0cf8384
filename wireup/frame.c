#include <config.h>

#include <wireup/frame.h>

#include <base/data/le.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

int frame_put(struct bytes *out, const opal_buffer_t *buffer, size_t max)
{
    uint8_t header[FRAME_HEADER];
    size_t size = proto_left(buffer);
    if (size == 0 || size > max || !bytes_reserve(out, sizeof(header) + size)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    put_le32(header, (uint32_t) size);
    return bytes_append(out, header, sizeof(header)) && bytes_append(out, buffer->unpack_ptr, size)
               ? ORTE_SUCCESS
               : ORTE_ERR_OUT_OF_RESOURCE;
}

int frame_next(struct bytes *in, size_t max, opal_buffer_t **buffer)
{
    size_t waiting = bytes_waiting(in);
    *buffer = NULL;
    if (waiting < FRAME_HEADER) {
        return ORTE_SUCCESS;
    }
    uint32_t size = get_le32((const uint8_t *) in->data + in->head);
    if (size == 0 || size > max) {
        return ORTE_ERR_UNPACK_FAILURE;
    }
    if (waiting - FRAME_HEADER < size) {
        return ORTE_SUCCESS;
    }
    void *copy = malloc(size);
    opal_buffer_t *made = copy ? OBJ_NEW(opal_buffer_t) : NULL;
    if (!made) {
        free(copy);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memcpy(copy, in->data + in->head + FRAME_HEADER, size);
    if (opal_dss.load(made, copy, (int32_t) size) != OPAL_SUCCESS) {
        free(copy);
        OBJ_RELEASE(made);
        return ORTE_ERR_UNPACK_FAILURE;
    }
    bytes_consume(in, FRAME_HEADER + size);
    *buffer = made;
    return ORTE_SUCCESS;
}
