#include <config.h>

#include <limits.h>
#include <rml/message/message.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE = 16 << 20, STEP = 1 << 20 };

size_t rml_iov_size(const struct iovec *parts, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].iov_len > INT_MAX - sum) {
            return SIZE_MAX;
        }
        sum += parts[i].iov_len;
    }
    return sum;
}

enum rml_format rml_format_of(opal_dss_buffer_type_t type)
{
    return type == OPAL_DSS_BUFFER_FULLY_DESC ? RML_BUFFER_FULLY_DESC : RML_BUFFER_NON_DESC;
}

void rml_iov_gather(uint8_t *data, const struct iovec *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (parts[i].iov_len > 0) {
            memcpy(data, parts[i].iov_base, parts[i].iov_len);
            data += parts[i].iov_len;
        }
    }
}

struct rml_message *rml_message_create(const struct rml_info *info, enum rml_format format,
                                       const struct iovec *parts, size_t count)
{
    struct rml_message *message = calloc(1, sizeof(*message));
    if (!message) {
        return NULL;
    }
    list_init(&message->link);
    list_init(&message->completion.link);
    message->info = *info;
    message->format = format;
    message->size = rml_iov_size(parts, parts ? count : 0);
    if (message->size > 0) {
        message->data = malloc(message->size);
        if (!message->data) {
            free(message);
            return NULL;
        }
        rml_iov_gather(message->data, parts, count);
    }
    return message;
}

struct rml_message *rml_message_clone(const struct rml_message *message)
{
    struct iovec whole = {message->data, message->size};
    struct rml_message *clone = rml_message_create(&message->info, message->format, &whole, 1);
    if (clone) {
        clone->arrival = message->arrival;
    }
    return clone;
}

void rml_message_destroy(struct rml_message *message)
{
    if (message) {
        free(message->data);
        free(message);
    }
}

/* What was copied from a large message is given back at once, so that it is not there twice. Its
 * whole pages only: others are the allocator's, too. */
static void give_back(uint8_t *from, uint8_t *to)
{
    uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t) from + page - 1) & ~(page - 1),
              end = (uintptr_t) to & ~(page - 1);
    if (first < end) {
        (void) madvise((void *) first, end - first, MADV_DONTNEED);
    }
}

static void copy_out(struct rml_message *message, size_t at, void *to, size_t length)
{
    uint8_t *data = message->data;
    size_t step = message->size >= LARGE ? STEP : length;
    for (size_t done = 0, now; done < length; done += now) {
        now = length - done < step ? length - done : step;
        memcpy((uint8_t *) to + done, data + at + done, now);
        if (message->size >= LARGE) {
            give_back(data + at + done, data + at + done + now);
        }
    }
}

int rml_message_scatter(struct rml_message *message, struct iovec *parts, int count, int flags)
{
    if (flags & ORTE_RML_ALLOC) {
        parts[0] = (struct iovec){message->data, message->size};
        message->data = NULL;
        return (int) message->size;
    }
    size_t done = 0;
    for (int i = 0; i < count && done < message->size; i++) {
        size_t left = message->size - done;
        size_t length = parts[i].iov_len < left ? parts[i].iov_len : left;
        if (length > 0) {
            copy_out(message, done, parts[i].iov_base, length);
            done += length;
        }
    }
    return (int) (flags & ORTE_RML_TRUNC ? message->size : done);
}

int rml_message_load(struct rml_message *message, opal_buffer_t *buffer)
{
    int status = opal_dss.load(buffer, message->data, (int32_t) message->size);
    if (status == ORTE_SUCCESS) {
        message->data = NULL;
        buffer->type = message->format == RML_BUFFER_FULLY_DESC ? OPAL_DSS_BUFFER_FULLY_DESC
                                                                : OPAL_DSS_BUFFER_NON_DESC;
    }
    return status;
}

bool rml_parts_valid(const struct iovec *parts, int count)
{
    if (count < 0 || (!parts && count > 0)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!parts[i].iov_base && parts[i].iov_len > 0) {
            return false;
        }
    }
    return true;
}

opal_buffer_t *rml_buffer_take(uint8_t *bytes, size_t size)
{
    opal_buffer_t *buffer = bytes && size <= INT32_MAX ? OBJ_NEW(opal_buffer_t) : NULL;
    if (buffer && opal_dss.load(buffer, bytes, (int32_t) size) == OPAL_SUCCESS) {
        return buffer;
    }
    OBJ_RELEASE(buffer);
    free(bytes);
    return NULL;
}
