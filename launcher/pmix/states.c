/* Entries of the answer about processes: little-endian u32 number, pid, state and exit code. Linked
 * into daemon and module. */
#include <config.h>

#include <endian.h>
#include <launcher/pmix/pmix_module.h>
#include <string.h>

enum { FIELDS = 4, ENTRY_BYTES = FIELDS * sizeof(uint32_t) };

size_t pmix_state_put(uint8_t *to, const struct pmix_state *state)
{
    uint32_t fields[FIELDS] = {htole32(state->number), htole32((uint32_t) state->pid),
                               htole32(state->state), htole32((uint32_t) state->exit_code)};
    if (to) {
        memcpy(to, fields, sizeof(fields));
    }
    return sizeof(fields);
}

bool pmix_state_next(const uint8_t **data, size_t *size, struct pmix_state *state)
{
    uint32_t fields[FIELDS];
    if (*size < ENTRY_BYTES) {
        return false;
    }
    memcpy(fields, *data, sizeof(fields));
    *state = (struct pmix_state){.number = le32toh(fields[0]),
                                 .pid = (int32_t) le32toh(fields[1]),
                                 .state = le32toh(fields[2]),
                                 .exit_code = (int32_t) le32toh(fields[3])};
    *data += ENTRY_BYTES;
    *size -= ENTRY_BYTES;
    return true;
}
