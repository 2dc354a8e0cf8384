#include <config.h>

#include <ptl/rail/wire.h>

static bool is_message(const struct rail_header *header)
{
    return header->type == RAIL_MATCH || header->type == RAIL_RNDV;
}

static bool is_piece(const struct rail_header *header)
{
    return header->type == RAIL_FRAG || header->type == RAIL_LANDED;
}

bool rail_has_memory(const struct rail_header *header)
{
    return header->flags & (RAIL_FLAG_FETCH | RAIL_FLAG_PUT);
}

/* Before the memory. */
static size_t fixed_bytes(const struct rail_header *header)
{
    switch (header->type) {
    case RAIL_MATCH:
    case RAIL_ACK:
    case RAIL_NACK:
        return RAIL_MATCH_BYTES;
    case RAIL_PULL:
        return RAIL_PULL_BYTES;
    default:
        return RAIL_LONG_BYTES;
    }
}

static size_t encode_memory(uint8_t *to, const struct rail_header *header)
{
    memset(to, 0, RAIL_MEMORY_BYTES);
    put_le64(to, header->address);
    put_le16(to + 8, header->handle_size);
    if (header->handle_size > 0) {
        memcpy(to + RAIL_MEMORY_BYTES, header->handle, header->handle_size);
    }
    return RAIL_MEMORY_BYTES + header->handle_size;
}

size_t rail_encode(uint8_t *to, const struct rail_header *header)
{
    size_t size = fixed_bytes(header);
    memset(to, 0, size);
    if (is_message(header)) {
        rail_encode_match(to, &header->match);
    } else {
        put_le64(to + 8, header->id);
    }
    to[0] = rail_first_byte(header->type);
    to[1] = header->flags;
    if (size >= RAIL_LONG_BYTES) {
        put_le64(to + 16, header->bytes);
        put_le64(to + 24, is_piece(header) ? header->offset : header->own_id);
    }
    if (size == RAIL_PULL_BYTES) {
        put_le64(to + 32, header->offset);
    }
    return rail_has_memory(header) ? size + encode_memory(to + size, header) : size;
}

/* The flags that each type may have, and those that it has to have. */
static const struct {
    uint8_t may, must;
} flags_of[] = {
    [RAIL_RNDV] = {RAIL_FLAG_ACK | RAIL_FLAG_FETCH | RAIL_FLAG_CONTIGUOUS, RAIL_FLAG_ACK},
    [RAIL_MEMORY] = {RAIL_FLAG_FETCH, 0},
    [RAIL_PULL] = {RAIL_FLAG_PUT | RAIL_FLAG_PIECE, 0},
};

static bool is_known(uint8_t type, uint8_t flags)
{
    return type >= RAIL_MATCH && type <= RAIL_PULL && (flags & ~flags_of[type].may) == 0 &&
           (flags & flags_of[type].must) == flags_of[type].must;
}

/* size bytes lie there; the memory takes *taken of them. */
static bool decode_memory(struct rail_header *header, const uint8_t *from, size_t size,
                          size_t *taken)
{
    if (size < RAIL_MEMORY_BYTES) {
        return false;
    }
    header->address = get_le64(from);
    header->handle_size = get_le16(from + 8);
    header->handle = from + RAIL_MEMORY_BYTES;
    *taken = RAIL_MEMORY_BYTES + header->handle_size;
    return header->handle_size <= MCA_BTL_REG_HANDLE_MAX_SIZE && *taken <= size &&
           get_le16(from + 10) == 0 && get_le32(from + 12) == 0 &&
           header->bytes <= UINT64_MAX - header->offset &&
           header->offset + header->bytes <= UINT64_MAX - header->address;
}

/* What stands between the first words and the memory. */
static void decode_long(struct rail_header *header, const uint8_t *from, size_t fixed)
{
    header->bytes = get_le64(from + 16);
    *(is_piece(header) ? &header->offset : &header->own_id) = get_le64(from + 24);
    if (fixed == RAIL_PULL_BYTES) {
        header->offset = get_le64(from + 32);
    }
}

int rail_decode(struct rail_header *header, const uint8_t *from, size_t size, size_t *taken)
{
    struct rail_header decoded = {0};
    size_t memory = 0;
    if (size < RAIL_MATCH_BYTES || rail_version_of(from[0]) != RAIL_VERSION ||
        !is_known(from[0] & 0xf, from[1])) {
        return OPAL_ERR_BAD_PARAM;
    }
    decoded.type = from[0] & 0xf;
    decoded.flags = from[1];
    size_t fixed = fixed_bytes(&decoded);
    if (size < fixed) {
        return OPAL_ERR_BAD_PARAM;
    }
    bool good = true;
    if (is_message(&decoded)) {
        good = rail_decode_match(&decoded.match, from);
    } else {
        decoded.id = get_le64(from + 8);
        good = get_le64(from) >> 16 == 0;
    }
    if (fixed >= RAIL_LONG_BYTES) {
        decode_long(&decoded, from, fixed);
    }
    if (rail_has_memory(&decoded)) {
        good = good && decode_memory(&decoded, from + fixed, size - fixed, &memory);
    }
    if (!good) {
        return OPAL_ERR_BAD_PARAM;
    }
    *header = decoded;
    *taken = fixed + memory;
    return OPAL_SUCCESS;
}

void rail_encode_number(uint8_t *to, uint32_t number)
{
    memset(to, 0, RAIL_NUMBER_BYTES);
    to[0] = rail_first_byte(RAIL_NUMBERED);
    put_le32(to + 4, number);
}

void rail_set_came(uint8_t *to, uint32_t came)
{
    put_le32(to + 8, came);
}

void rail_encode_came(uint8_t *to, uint32_t came)
{
    rail_encode_number(to, 0);
    to[0] = rail_first_byte(RAIL_CAME);
    rail_set_came(to, came);
}

void rail_encode_lost(uint8_t *to)
{
    rail_encode_number(to, 0);
    to[0] = rail_first_byte(RAIL_LOST);
}

void rail_encode_part(uint8_t *to, const uint8_t *numbered, uint32_t offset, uint32_t whole)
{
    memcpy(to, numbered, RAIL_NUMBER_BYTES);
    to[1] = RAIL_FLAG_PART;
    put_le32(to + 12, offset);
    put_le32(to + 16, whole);
}

static bool decode_part(struct rail_part *part, const uint8_t *from, size_t size)
{
    part->kind = RAIL_PART_SOME;
    if (size <= RAIL_PART_BYTES) {
        return false;
    }
    part->offset = get_le32(from + 12);
    part->whole = get_le32(from + 16);
    part->bytes = from + RAIL_PART_BYTES;
    part->size = size - RAIL_PART_BYTES;
    return part->offset <= part->whole && part->size <= part->whole - part->offset;
}

bool rail_decode_number(struct rail_part *part, const uint8_t *from, size_t size)
{
    if (size < RAIL_NUMBER_BYTES || get_le16(from + 2) != 0) {
        return false;
    }
    *part = (struct rail_part){.kind = RAIL_PART_WHOLE,
                               .number = get_le32(from + 4),
                               .came = get_le32(from + 8),
                               .bytes = from + RAIL_NUMBER_BYTES,
                               .size = size - RAIL_NUMBER_BYTES};
    if (from[0] == rail_first_byte(RAIL_CAME) || from[0] == rail_first_byte(RAIL_LOST)) {
        part->kind = from[0] == rail_first_byte(RAIL_CAME) ? RAIL_PART_NONE : RAIL_PART_LOST;
        return from[1] == 0 && part->number == 0 && part->size == 0;
    }
    if (from[0] != rail_first_byte(RAIL_NUMBERED)) {
        return false;
    }
    return from[1] == RAIL_FLAG_PART ? decode_part(part, from, size) : from[1] == 0;
}
