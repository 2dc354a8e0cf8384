#include <config.h>

#include <launcher/submit.h>

#include <bootstrap/proto.h>
#include <launcher/orders.h>
#include <stdlib.h>

#define APPS_MAX 4096u
#define NODES_MAX 65536u

static int numbers_pack(opal_buffer_t *buffer, const struct run_request *request)
{
    const uint32_t numbers[] = {
        (uint32_t) request->app_count, (uint32_t) request->node_count,
        request->simulate_nodes,       request->simulate_slots,
        (uint32_t) request->bind,      request->oversubscribe,
        request->report_bindings,      request->timeout_s,
    };
    return opal_dss.pack(buffer, numbers, sizeof(numbers) / sizeof(*numbers), OPAL_UINT32);
}

static int numbers_unpack(opal_buffer_t *buffer, struct run_request *request)
{
    uint32_t numbers[8];
    int32_t n = sizeof(numbers) / sizeof(*numbers);
    int status = opal_dss.unpack(buffer, numbers, &n, OPAL_UINT32);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (n != sizeof(numbers) / sizeof(*numbers) || numbers[0] == 0 || numbers[0] > APPS_MAX ||
        numbers[1] > NODES_MAX || numbers[4] > BIND_CORE) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    request->app_count = numbers[0];
    request->node_count = numbers[1];
    request->simulate_nodes = numbers[2];
    request->simulate_slots = numbers[3];
    request->bind = numbers[4];
    request->oversubscribe = numbers[5];
    request->report_bindings = numbers[6];
    request->timeout_s = numbers[7];
    return ORTE_SUCCESS;
}

static int app_pack(opal_buffer_t *buffer, const struct app_request *app)
{
    int status = proto_put(buffer, &app->count, OPAL_UINT32);
    if (status == OPAL_SUCCESS) {
        status = strings_pack(buffer, app->argv);
    }
    if (status == OPAL_SUCCESS) {
        status = strings_pack(buffer, app->env);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_put(buffer, &app->wdir, OPAL_STRING);
    }
    return status;
}

static int app_unpack(opal_buffer_t *buffer, struct app_request *app)
{
    int status = proto_get(buffer, &app->count, OPAL_UINT32);
    if (status == OPAL_SUCCESS) {
        status = strings_unpack(buffer, &app->argv);
    }
    if (status == OPAL_SUCCESS) {
        status = strings_unpack(buffer, &app->env);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_get(buffer, &app->wdir, OPAL_STRING);
    }
    return status == OPAL_SUCCESS && !app->argv[0] ? ORTE_ERR_UNPACK_FAILURE : status;
}

int submit_pack(opal_buffer_t *buffer, const struct run_request *request)
{
    int status = numbers_pack(buffer, request);
    for (size_t i = 0; status == OPAL_SUCCESS && i < request->app_count; i++) {
        status = app_pack(buffer, &request->apps[i]);
    }
    for (size_t i = 0; status == OPAL_SUCCESS && i < request->node_count; i++) {
        status = proto_put(buffer, &request->nodes[i].name, OPAL_STRING);
        if (status == OPAL_SUCCESS) {
            status = proto_put(buffer, &request->nodes[i].slots, OPAL_UINT32);
        }
    }
    return status;
}

int submit_unpack(opal_buffer_t *buffer, struct run_request *request)
{
    struct run_request read = {0};
    int status = numbers_unpack(buffer, &read);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    read.apps = calloc(read.app_count, sizeof(*read.apps));
    read.nodes = calloc(read.node_count + 1, sizeof(*read.nodes));
    if (!read.apps || !read.nodes) {
        status = ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; status == OPAL_SUCCESS && i < read.app_count; i++) {
        status = app_unpack(buffer, &read.apps[i]);
    }
    for (size_t i = 0; status == OPAL_SUCCESS && i < read.node_count; i++) {
        status = proto_get(buffer, &read.nodes[i].name, OPAL_STRING);
        if (status == OPAL_SUCCESS) {
            status = proto_get(buffer, &read.nodes[i].slots, OPAL_UINT32);
        }
        if (status == OPAL_SUCCESS && !read.nodes[i].name) {
            status = ORTE_ERR_UNPACK_FAILURE;
        }
    }
    if (status != OPAL_SUCCESS) {
        read.app_count = read.apps ? read.app_count : 0;
        read.node_count = read.nodes ? read.node_count : 0;
        run_request_fini(&read);
        return status;
    }
    *request = read;
    return ORTE_SUCCESS;
}
