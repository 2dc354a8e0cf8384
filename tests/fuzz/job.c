/* What describes a job: the map that every process gets, the launch message, ranks that are added,
 * what the front end submits, and the daemons that one is to start. What is taken packs to the same
 * bytes. */
#include <config.h>

#include <launcher/node/onward.h>
#include <launcher/node/orders/orders.h>
#include <launcher/request/submit.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

/* Packs and unpacks once more: the second packing equals the first. */
static void check_equal(opal_buffer_t *one, opal_buffer_t *other)
{
    fuzz_check(one->bytes_used == other->bytes_used &&
                   memcmp(one->base_ptr, other->base_ptr, one->bytes_used) == 0,
               "it packs to the same bytes again");
    OBJ_RELEASE(one);
    OBJ_RELEASE(other);
}

static void check_map(const struct job_map *map)
{
    fuzz_check(map->size > 0 && map->node_count > 0, "a job has ranks and nodes");
    for (uint32_t rank = 0; rank < map->size; rank++) {
        fuzz_check(map->node_of[rank] < map->node_count, "each rank is on a node");
    }
    for (uint32_t node = 0; node < map->node_count; node++) {
        fuzz_check(map->node_names[node] != NULL, "each node has a name");
    }
}

static void read_map(opal_buffer_t *buffer)
{
    struct job_map map;
    if (job_map_unpack(buffer, &map) == ORTE_SUCCESS) {
        check_map(&map);
        opal_buffer_t *one = OBJ_NEW(opal_buffer_t), *other = OBJ_NEW(opal_buffer_t);
        struct job_map again;
        fuzz_check(job_map_pack(one, &map) == ORTE_SUCCESS &&
                       job_map_unpack(one, &again) == ORTE_SUCCESS &&
                       job_map_pack(other, &again) == ORTE_SUCCESS,
                   "a job map packs and unpacks");
        check_equal(one, other);
        job_map_fini(&again);
        job_map_fini(&map);
    }
}

static void read_launch(opal_buffer_t *buffer)
{
    struct launch launch;
    if (launch_unpack(buffer, &launch) == ORTE_SUCCESS) {
        check_map(&launch.map);
        for (uint32_t rank = 0; rank < launch.map.size; rank++) {
            fuzz_check(launch.app_of[rank] < launch.app_count, "each rank has a program");
        }
        opal_buffer_t *one = OBJ_NEW(opal_buffer_t), *other = OBJ_NEW(opal_buffer_t);
        struct launch again;
        fuzz_check(launch_pack(one, &launch) == ORTE_SUCCESS &&
                       launch_unpack(one, &again) == ORTE_SUCCESS &&
                       launch_pack(other, &again) == ORTE_SUCCESS,
                   "a launch packs and unpacks");
        check_equal(one, other);
        launch_fini(&again);
        launch_fini(&launch);
    }
}

static void read_spawned(opal_buffer_t *buffer)
{
    struct spawned spawned;
    if (spawned_unpack(buffer, &spawned) == ORTE_SUCCESS) {
        opal_buffer_t *one = OBJ_NEW(opal_buffer_t), *other = OBJ_NEW(opal_buffer_t);
        struct spawned again;
        fuzz_check(spawned_pack(one, &spawned) == ORTE_SUCCESS &&
                       spawned_unpack(one, &again) == ORTE_SUCCESS &&
                       spawned_pack(other, &again) == ORTE_SUCCESS,
                   "ranks that are added pack and unpack");
        check_equal(one, other);
        spawned_fini(&again);
        spawned_fini(&spawned);
    }
}

static void read_submit(opal_buffer_t *buffer)
{
    struct run_request request;
    if (submit_unpack(buffer, &request) == ORTE_SUCCESS) {
        fuzz_check(request.app_count > 0 && request.apps[0].argv[0], "there is a program");
        opal_buffer_t *one = OBJ_NEW(opal_buffer_t), *other = OBJ_NEW(opal_buffer_t);
        struct run_request again;
        fuzz_check(submit_pack(one, &request) == ORTE_SUCCESS &&
                       submit_unpack(one, &again) == ORTE_SUCCESS &&
                       submit_pack(other, &again) == ORTE_SUCCESS,
                   "a request packs and unpacks");
        check_equal(one, other);
        run_request_fini(&again);
        run_request_fini(&request);
    }
}

static void read_start(opal_buffer_t *buffer)
{
    struct start_order order;
    if (start_order_unpack(buffer, &order) == ORTE_SUCCESS) {
        fuzz_check(order.count > 0 && order.nodes[0].host[0] != '-', "there is a host");
        opal_buffer_t *one = OBJ_NEW(opal_buffer_t), *other = OBJ_NEW(opal_buffer_t);
        struct start_order again;
        fuzz_check(start_order_pack(one, &order) == ORTE_SUCCESS &&
                       start_order_unpack(one, &again) == ORTE_SUCCESS &&
                       start_order_pack(other, &again) == ORTE_SUCCESS,
                   "daemons to start pack and unpack");
        check_equal(one, other);
        start_order_fini(&again);
        start_order_fini(&order);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(opal_buffer_t *) = {read_map, read_launch, read_spawned,
                                                       read_submit, read_start};
    struct feed feed = {data, size};
    uint8_t choice = feed_byte(&feed);
    size_t payload_size;
    uint8_t *payload = feed_copy(&feed, feed.left, &payload_size);
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    if (payload_size > 0 &&
        opal_dss.load(buffer, payload, (int32_t) payload_size) == OPAL_SUCCESS) {
        readers[choice % 5](buffer);
    } else {
        free(payload);
    }
    OBJ_RELEASE(buffer);
    return 0;
}
