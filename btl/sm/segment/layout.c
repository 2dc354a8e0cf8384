#include <config.h>

#include <base/data/crypto.h>
#include <btl/sm/segment/layout.h>
#include <stdio.h>
#include <unistd.h>

static const uint64_t area_limits[SM_AREAS] = {65536, 1 << 20, 1 << 20, 1 << 24};

static size_t page_round(uint64_t size)
{
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
    return (size_t) ((size + page - 1) / page * page);
}

static bool shape_ok(const struct sm_shape *shape)
{
    if (shape->peers == 0 || shape->peers > 65536 || !sm_ring_count_ok(shape->ring_slots)) {
        return false;
    }
    for (int area = 0; area < SM_AREAS; area++) {
        if (shape->units[area] == 0 || shape->units[area] > area_limits[area] ||
            shape->unit_bytes[area] == 0 || shape->unit_bytes[area] > 1 << 26 ||
            shape->unit_bytes[area] % SM_LINE_BYTES != 0) {
            return false;
        }
    }
    return shape->unit_bytes[SM_AREA_RINGS] == sm_ring_bytes(shape->ring_slots);
}

int sm_layout_make(struct sm_layout *layout, const struct sm_shape *shape)
{
    if (!shape_ok(shape)) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct sm_layout made = {.board = page_round(sizeof(struct sm_header))};
    made.lines = made.board + page_round(sizeof(struct sm_board) +
                                         (uint64_t) shape->peers * sizeof(struct sm_cell));
    uint64_t end = made.lines + page_round((uint64_t) shape->peers * sizeof(struct sm_line));
    for (int area = 0; area < SM_AREAS; area++) {
        uint64_t size = (uint64_t) shape->units[area] * shape->unit_bytes[area];
        if (size > SM_SEGMENT_MAX - end || end + size > SIZE_MAX / 2) {
            return ORTE_ERR_BAD_PARAM;
        }
        made.start[area] = (size_t) end;
        made.end[area] = (size_t) (end + size);
        end = page_round(end + size);
    }
    made.size = (size_t) end;
    *layout = made;
    return ORTE_SUCCESS;
}

char *sm_file_path(const char *session_dir, const uint8_t name[SM_NONCE_BYTES])
{
    char hex[SM_NONCE_TEXT];
    crypto_to_hex(hex, name, SM_NONCE_BYTES);
    char *path;
    return session_dir && asprintf(&path, "%s/sm-%s", session_dir, hex) >= 0 ? path : NULL;
}
