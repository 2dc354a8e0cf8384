#include <config.h>

#include <launcher/node/orders/orders.h>

#include <base/data/strings.h>
#include <stdlib.h>

void launch_app_code(struct codec *codec, struct launch_app *app)
{
    codec_strings(codec, &app->argv);
    codec_strings(codec, &app->env);
    codec_text(codec, &app->wdir);
    codec_text(codec, &app->path);
    codec_check(codec, app->argv && app->argv[0]);
}

void launch_cpus_code(struct codec *codec, char ***cpus, uint32_t count)
{
    codec_strings(codec, cpus);
    codec_check(codec, strings_count(*cpus) == count);
}

static void launch_code(struct codec *codec, struct launch *launch)
{
    uint32_t apps = launch->app_count;
    codec_flag(codec, &launch->yield);
    codec_flag(codec, &launch->pty);
    codec_flag(codec, &launch->merge_stderr);
    codec_u32(codec, &launch->input_first, UINT32_MAX);
    codec_u32(codec, &launch->input_count, UINT32_MAX);
    codec_window(codec, &launch->window);
    codec_u32(codec, &launch->universe, UINT32_MAX);
    codec_u32(codec, &apps, APPS_MAX);
    codec_check(codec, apps > 0);
    codec_array(codec, &launch->apps, &launch->app_count, apps, sizeof(*launch->apps));
    for (uint32_t i = 0; codec_goes_on(codec) && i < apps; i++) {
        launch_app_code(codec, &launch->apps[i]);
    }
    codec_u32s(codec, &launch->app_of, launch->map.size);
    for (uint32_t rank = 0; codec_goes_on(codec) && rank < launch->map.size; rank++) {
        codec_check(codec, launch->app_of[rank] < apps);
    }
    launch_cpus_code(codec, &launch->cpus, launch->map.size);
}

int launch_pack(opal_buffer_t *buffer, const struct launch *launch)
{
    struct launch packed = *launch; /* has the same arrays: nothing is written to them */
    struct codec codec = {.buffer = buffer, .status = job_map_pack(buffer, &launch->map)};
    launch_code(&codec, &packed);
    return codec.status;
}

int launch_unpack(opal_buffer_t *buffer, struct launch *launch)
{
    struct launch read = {0};
    struct codec codec = {
        .buffer = buffer, .unpacks = true, .status = job_map_unpack(buffer, &read.map)};
    launch_code(&codec, &read);
    if (codec.status != ORTE_SUCCESS) {
        launch_fini(&read);
        return codec.status;
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
