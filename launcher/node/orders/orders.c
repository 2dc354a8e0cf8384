#include <config.h>

#include <launcher/node/orders/orders.h>

#include <base/data/strings.h>
#include <stdlib.h>
#include <wireup/proto.h>

#define APPS_MAX 4096u

int launch_app_pack(opal_buffer_t *buffer, const struct launch_app *app)
{
    int status = proto_pack_strings(buffer, app->argv);
    if (status == OPAL_SUCCESS) {
        status = proto_pack_strings(buffer, app->env);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_pack(buffer, "ss", app->wdir ? app->wdir : "", app->path ? app->path : "");
    }
    return status;
}

int launch_app_unpack(opal_buffer_t *buffer, struct launch_app *app)
{
    int status = proto_unpack_strings(buffer, &app->argv);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &app->env);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack(buffer, "ss", &app->wdir, &app->path);
    }
    if (status == OPAL_SUCCESS && !app->argv[0]) {
        status = ORTE_ERR_UNPACK_FAILURE;
    }
    return status;
}

int launch_pack(opal_buffer_t *buffer, const struct launch *launch)
{
    int status = job_map_pack(buffer, &launch->map);
    if (status == OPAL_SUCCESS) {
        status =
            proto_pack(buffer, "cccuuuuuu", launch->yield, launch->pty, launch->merge_stderr,
                       launch->input_first, launch->input_count, (uint32_t) launch->window.rows,
                       (uint32_t) launch->window.columns, launch->universe, launch->app_count);
    }
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < launch->app_count; i++) {
        status = launch_app_pack(buffer, &launch->apps[i]);
    }
    if (status == OPAL_SUCCESS) {
        status = opal_dss.pack(buffer, launch->app_of, (int32_t) launch->map.size, OPAL_UINT32);
    }
    return status == OPAL_SUCCESS ? proto_pack_strings(buffer, launch->cpus) : status;
}

static int apps_unpack(opal_buffer_t *buffer, struct launch *launch, uint32_t count)
{
    int status = ORTE_SUCCESS;
    if (count == 0 || count > APPS_MAX) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    launch->apps = calloc(count, sizeof(*launch->apps));
    if (!launch->apps) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    launch->app_count = count;
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < count; i++) {
        status = launch_app_unpack(buffer, &launch->apps[i]);
    }
    return status;
}

static int app_of_unpack(opal_buffer_t *buffer, struct launch *launch)
{
    int32_t n = (int32_t) launch->map.size; /* the map's ranks were checked against its bytes */
    launch->app_of = calloc(launch->map.size, sizeof(*launch->app_of));
    if (!launch->app_of) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status = opal_dss.unpack(buffer, launch->app_of, &n, OPAL_UINT32);
    for (uint32_t rank = 0; status == OPAL_SUCCESS && rank < launch->map.size; rank++) {
        if ((uint32_t) n != launch->map.size || launch->app_of[rank] >= launch->app_count) {
            status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
        }
    }
    return status;
}

int launch_cpus_unpack(opal_buffer_t *buffer, uint32_t count, char ***cpus)
{
    int status = proto_unpack_strings(buffer, cpus);
    return status == OPAL_SUCCESS && strings_count(*cpus) != count ? ORTE_ERR_VALUE_OUT_OF_BOUNDS
                                                                   : status;
}

int launch_unpack(opal_buffer_t *buffer, struct launch *launch)
{
    struct launch read = {0};
    uint8_t yield, pty, merge;
    uint32_t app_count, rows, columns;
    int status = job_map_unpack(buffer, &read.map);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack(buffer, "cccuuuuuu", &yield, &pty, &merge, &read.input_first,
                              &read.input_count, &rows, &columns, &read.universe, &app_count);
    }
    if (status == OPAL_SUCCESS && !window_make(&read.window, rows, columns)) {
        status = ORTE_ERR_UNPACK_FAILURE;
    }
    if (status == OPAL_SUCCESS) {
        read.yield = yield;
        read.pty = pty;
        read.merge_stderr = merge;
        status = apps_unpack(buffer, &read, app_count);
    }
    if (status == OPAL_SUCCESS) {
        status = app_of_unpack(buffer, &read);
    }
    if (status == OPAL_SUCCESS) {
        status = launch_cpus_unpack(buffer, read.map.size, &read.cpus);
    }
    if (status != OPAL_SUCCESS) {
        launch_fini(&read);
        return status;
    }
    *launch = read;
    return ORTE_SUCCESS;
}

void launch_app_fini(struct launch_app *app)
{
    strings_free(app->argv);
    strings_free(app->env);
    free(app->wdir);
    free(app->path);
}

void launch_fini(struct launch *launch)
{
    for (uint32_t i = 0; launch->apps && i < launch->app_count; i++) {
        launch_app_fini(&launch->apps[i]);
    }
    free(launch->apps);
    free(launch->app_of);
    strings_free(launch->cpus);
    job_map_fini(&launch->map);
    *launch = (struct launch){0};
}
