#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <wireup/codec.h>
#include <wireup/job_map.h>
#include <wireup/proto.h>

#define RANKS_MAX (1u << 20)
#define NODES_MAX (1u << 16)

orte_jobid_t job_uuid_make(char uuid[JOB_UUID_TEXT])
{
    uint8_t bits[(JOB_UUID_TEXT - 1) / 2];
    crypto_random(bits, sizeof(bits));
    crypto_to_hex(uuid, bits, sizeof(bits));
    return job_family_of(bits);
}

static void arrays_code(struct codec *codec, struct job_map *map)
{
    codec_u32s(codec, &map->daemon_of_node, map->node_count);
    codec_u32s(codec, &map->node_of, map->size);
    codec_u32s(codec, &map->local_rank_of, map->size);
}

int job_map_pack(opal_buffer_t *buffer, const struct job_map *map)
{
    struct job_map packed = *map; /* has the same arrays: nothing is written to them */
    struct codec codec = {.buffer = buffer};
    codec.status = proto_pack(buffer, "usbuu", map->jobid, map->uuid, map->app_key,
                              sizeof(map->app_key), map->size, map->node_count);
    if (codec_goes_on(&codec)) {
        codec.status =
            opal_dss.pack(buffer, map->node_names, (int32_t) map->node_count, OPAL_STRING);
    }
    arrays_code(&codec, &packed);
    crypto_wipe(packed.app_key, sizeof(packed.app_key));
    return codec.status;
}

static int unpack_names(opal_buffer_t *buffer, struct job_map *map)
{
    if (proto_left(buffer) / sizeof(uint32_t) < map->node_count) {
        return ORTE_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    }
    map->node_names = calloc(map->node_count, sizeof(*map->node_names));
    if (!map->node_names) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int32_t n = (int32_t) map->node_count;
    int status = opal_dss.unpack(buffer, map->node_names, &n, OPAL_STRING);
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < map->node_count; i++) {
        if ((uint32_t) n != map->node_count || !map->node_names[i]) {
            status = ORTE_ERR_UNPACK_FAILURE;
        }
    }
    return status;
}

static int unpack_head(opal_buffer_t *buffer, struct job_map *map)
{
    char *uuid;
    uint8_t *key;
    size_t key_size;
    int status = proto_unpack(buffer, "usbuu", &map->jobid, &uuid, &key, &key_size, &map->size,
                              &map->node_count);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (strlen(uuid) != JOB_UUID_TEXT - 1 || key_size != sizeof(map->app_key)) {
        status = ORTE_ERR_UNPACK_FAILURE;
    } else if (map->size == 0 || map->size > RANKS_MAX || map->node_count == 0 ||
               map->node_count > NODES_MAX) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    } else {
        memcpy(map->uuid, uuid, JOB_UUID_TEXT);
        memcpy(map->app_key, key, sizeof(map->app_key));
    }
    crypto_wipe(key, key_size);
    free(uuid);
    free(key);
    return status;
}

static int check_indices(const struct job_map *map)
{
    for (uint32_t rank = 0; rank < map->size; rank++) {
        if (map->node_of[rank] >= map->node_count || map->local_rank_of[rank] >= map->size) {
            return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
        }
    }
    for (uint32_t node = 0; node < map->node_count; node++) {
        if (map->daemon_of_node[node] > NODES_MAX) {
            return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
        }
    }
    return ORTE_SUCCESS;
}

int job_map_unpack(opal_buffer_t *buffer, struct job_map *map)
{
    struct job_map read = {0};
    struct codec codec = {.buffer = buffer, .unpacks = true, .status = unpack_head(buffer, &read)};
    if (codec_goes_on(&codec)) {
        codec.status = unpack_names(buffer, &read);
    }
    arrays_code(&codec, &read);
    if (codec_goes_on(&codec)) {
        codec.status = check_indices(&read);
    }
    if (codec.status != ORTE_SUCCESS) {
        job_map_fini(&read);
        return codec.status;
    }
    *map = read;
    return ORTE_SUCCESS;
}

void job_map_fini(struct job_map *map)
{
    for (uint32_t i = 0; map->node_names && i < map->node_count; i++) {
        free(map->node_names[i]);
    }
    free(map->node_names);
    free(map->daemon_of_node);
    free(map->node_of);
    free(map->local_rank_of);
    crypto_wipe(map->app_key, sizeof(map->app_key));
    *map = (struct job_map){0};
}
