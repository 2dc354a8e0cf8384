#include <config.h>

#include <base/data/clock.h>
#include <launcher/pmix/connection/asked.h>
#include <string.h>

/* Where they stand in a header; big-endian, the size in the first half of eight bytes. */
enum { AT_TAG = 4, AT_SIZE = 8 };
/* A body begins with the number of commands, 1 in libpmix's encoding of integers, and the command.
 */
enum { ONE = 2, COMMAND_FENCE = 3 };

/* By command. */
static const char *const calls[] = {[4] = "PMIx_Get",
                                    [6] = "PMIx_Publish",
                                    [7] = "PMIx_Lookup",
                                    [8] = "PMIx_Unpublish",
                                    [9] = "PMIx_Spawn",
                                    [10] = "PMIx_Connect",
                                    [11] = "PMIx_Disconnect",
                                    [24] = "PMIx_Group_construct",
                                    [28] = "PMIx_Group_destruct"};

static uint32_t number_at(const uint8_t *header, size_t at)
{
    return (uint32_t) header[at] << 24 | (uint32_t) header[at + 1] << 16 |
           (uint32_t) header[at + 2] << 8 | header[at + 3];
}

void asked_begin(struct asked *asked)
{
    memset(asked->head, 0, sizeof(asked->head));
    asked->at = asked->unsent = 0;
    asked->fence_tag = asked->call_tag = 0;
    atomic_store(&asked->fences, 0);
    atomic_store(&asked->fence_open, 0);
    atomic_store(&asked->call, 0);
    atomic_store(&asked->moved_us, 0);
    atomic_store(&asked->began_us, clock_us());
}

static void begun(struct asked *asked)
{
    uint32_t tag = number_at(asked->head, AT_TAG);
    unsigned command = asked->head[ASKED_HEADER_BYTES + 1];
    atomic_store(&asked->moved_us, clock_us());
    if (asked->head[ASKED_HEADER_BYTES] != ONE) {
        return;
    }
    if (command == COMMAND_FENCE) {
        asked->fence_tag = tag;
        atomic_fetch_add(&asked->fences, 1);
        atomic_store(&asked->fence_open, 1);
    } else if (command < sizeof(calls) / sizeof(calls[0]) && calls[command]) {
        asked->call_tag = tag;
        atomic_store(&asked->call, command);
    }
}

/* Takes bytes up to this position of the message; how many. */
static size_t take(struct asked *asked, const uint8_t *bytes, size_t size, uint64_t end)
{
    size_t part = size < end - asked->at ? size : (size_t) (end - asked->at);
    if (asked->at < sizeof(asked->head)) {
        memcpy(asked->head + asked->at, bytes, part);
    }
    asked->at += part;
    return part;
}

void asked_read(struct asked *asked, const uint8_t *bytes, size_t size)
{
    const uint64_t command_end = sizeof(asked->head);
    while (size > 0) {
        uint64_t end = ASKED_HEADER_BYTES;
        if (asked->at >= ASKED_HEADER_BYTES) {
            end += number_at(asked->head, AT_SIZE);
        }
        bool short_of_command = asked->at < command_end && end > command_end;
        size_t part = take(asked, bytes, size, short_of_command ? command_end : end);
        bytes += part;
        size -= part;
        if (part > 0 && asked->at == command_end) {
            begun(asked);
        }
        if (asked->at >= ASKED_HEADER_BYTES &&
            asked->at == ASKED_HEADER_BYTES + (uint64_t) number_at(asked->head, AT_SIZE)) {
            asked->at = 0;
        }
    }
}

static void answered(struct asked *asked, const uint8_t *header)
{
    uint32_t tag = number_at(header, AT_TAG);
    if (tag == asked->fence_tag) {
        asked->fence_tag = 0;
        atomic_store(&asked->fence_open, 0);
    }
    if (tag == asked->call_tag) {
        asked->call_tag = 0;
        atomic_store(&asked->call, 0);
    }
}

void asked_written(struct asked *asked, const uint8_t *first, size_t size, size_t unsent)
{
    if (asked->unsent == 0 && size == ASKED_HEADER_BYTES) {
        answered(asked, first);
    }
    asked->unsent = unsent;
}

struct asked_view asked_look(struct asked *asked)
{
    const bool in_fence =
        atomic_load(&asked->fence_open) != 0; /* first: it is set after its number */
    return (struct asked_view){.fences = atomic_load(&asked->fences),
                               .in_fence = in_fence,
                               .call = calls[atomic_load(&asked->call)],
                               .began_us = atomic_load(&asked->began_us),
                               .moved_us = atomic_load(&asked->moved_us)};
}
