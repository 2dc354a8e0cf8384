#include <config.h>

#include <bootstrap/proto.h>
#include <stdlib.h>

int proto_put_bytes(opal_buffer_t *buffer, const void *data, size_t size)
{
    if (size > INT32_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    opal_byte_object_t object = {.size = (int32_t) size, .bytes = (uint8_t *) data};
    opal_byte_object_t *pointer = &object;
    return opal_dss.pack(buffer, &pointer, 1, OPAL_BYTE_OBJECT);
}

int proto_get_bytes(opal_buffer_t *buffer, uint8_t **data, size_t *size)
{
    opal_byte_object_t *object = NULL;
    int32_t count = 1;
    int status = opal_dss.unpack(buffer, &object, &count, OPAL_BYTE_OBJECT);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    *data = object->bytes;
    *size = (size_t) object->size;
    free(object);
    return OPAL_SUCCESS;
}

int proto_put(opal_buffer_t *buffer, const void *value, opal_data_type_t type)
{
    return opal_dss.pack(buffer, value, 1, type);
}

int proto_get(opal_buffer_t *buffer, void *value, opal_data_type_t type)
{
    int32_t count = 1;
    return opal_dss.unpack(buffer, value, &count, type);
}

size_t proto_left(const opal_buffer_t *buffer)
{
    return buffer->bytes_used - (size_t) (buffer->unpack_ptr - buffer->base_ptr);
}
