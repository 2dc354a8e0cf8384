#include <config.h>

#include <launcher/request/submit.h>

#include <stdlib.h>
#include <wireup/proto.h>

#define APPS_MAX 4096u
#define NODES_MAX 65536u

static int numbers_unpack(opal_buffer_t *buffer, struct run_request *request)
{
    uint32_t apps, nodes, rows, columns;
    uint8_t bind, pty, oversubscribe, report_bindings;
    int status = proto_unpack(buffer, "uuuuccccuuu", &apps, &nodes, &request->simulate_nodes,
                              &request->simulate_slots, &bind, &pty, &oversubscribe,
                              &report_bindings, &request->timeout_s, &rows, &columns);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (apps == 0 || apps > APPS_MAX || nodes > NODES_MAX || bind > BIND_CORE || pty > PTY_NEVER ||
        !window_make(&request->window, rows, columns)) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    request->app_count = apps;
    request->node_count = nodes;
    request->bind = bind;
    request->pty = pty;
    request->oversubscribe = oversubscribe;
    request->report_bindings = report_bindings;
    return ORTE_SUCCESS;
}

static int app_pack(opal_buffer_t *buffer, const struct app_request *app)
{
    int status = proto_pack(buffer, "us", app->count, app->wdir ? app->wdir : "");
    if (status == OPAL_SUCCESS) {
        status = proto_pack_strings(buffer, app->argv);
    }
    return status == OPAL_SUCCESS ? proto_pack_strings(buffer, app->env) : status;
}

static int app_unpack(opal_buffer_t *buffer, struct app_request *app)
{
    int status = proto_unpack(buffer, "us", &app->count, &app->wdir);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &app->argv);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &app->env);
    }
    return status == OPAL_SUCCESS && !app->argv[0] ? ORTE_ERR_UNPACK_FAILURE : status;
}

int submit_pack(opal_buffer_t *buffer, const struct run_request *request)
{
    int status = proto_pack(buffer, "uuuuccccuuu", (uint32_t) request->app_count,
                            (uint32_t) request->node_count, request->simulate_nodes,
                            request->simulate_slots, request->bind, request->pty,
                            request->oversubscribe, request->report_bindings, request->timeout_s,
                            (uint32_t) request->window.rows, (uint32_t) request->window.columns);
    if (status == OPAL_SUCCESS) {
        status = proto_pack(buffer, "s", request->uri_file ? request->uri_file : "");
    }
    for (size_t i = 0; status == OPAL_SUCCESS && i < request->app_count; i++) {
        status = app_pack(buffer, &request->apps[i]);
    }
    for (size_t i = 0; status == OPAL_SUCCESS && i < request->node_count; i++) {
        status = proto_pack(buffer, "su", request->nodes[i].name, request->nodes[i].slots);
    }
    return status;
}

int submit_unpack(opal_buffer_t *buffer, struct run_request *request)
{
    struct run_request read = {0};
    int status = numbers_unpack(buffer, &read);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack(buffer, "s", &read.uri_file);
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (!read.uri_file[0]) {
        free(read.uri_file);
        read.uri_file = NULL;
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
        status = proto_unpack(buffer, "su", &read.nodes[i].name, &read.nodes[i].slots);
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
