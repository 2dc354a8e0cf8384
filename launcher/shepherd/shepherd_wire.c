#include <config.h>

#include <launcher/shepherd/shepherd_wire.h>

#include <base/data/strings.h>
#include <errno.h>
#include <stdlib.h>
#include <wireup/codec.h>
#include <wireup/proto.h>

static void app_code(struct codec *codec, struct wire_app *app)
{
    codec_u32(codec, &app->app, UINT32_MAX);
    codec_u8(codec, &app->kind, PROC_STEP);
    codec_u8(codec, &app->out, STDIO_PTY);
    codec_u8(codec, &app->err, STDIO_MERGED);
    codec_window(codec, &app->window);
    codec_flag(codec, &app->socket);
    codec_u32(codec, &app->error, INT32_MAX);
    codec_optional_text(codec, &app->program);
    codec_optional_text(codec, &app->wdir);
    codec_strings(codec, &app->argv);
    codec_strings(codec, &app->env);
}

static void proc_code(struct codec *codec, struct wire_proc *proc)
{
    codec_u32(codec, &proc->app, UINT32_MAX);
    codec_u32(codec, &proc->id, UINT32_MAX);
    codec_u8(codec, &proc->in, STDIO_PTY);
    codec_optional_text(codec, &proc->cpus);
    codec_strings(codec, &proc->env);
}

/* big: it has more than a command may have. */
static opal_buffer_t *finish(const struct codec *codec, bool *big)
{
    *big = codec->buffer &&
           (codec->status == ORTE_ERR_BAD_PARAM || codec->buffer->bytes_used > COMMAND_BYTES_MAX);
    return proto_whole(codec->buffer, *big ? ORTE_ERR_BAD_PARAM : codec->status);
}

static opal_buffer_t *pack_app(struct wire_app *app, bool *big)
{
    struct codec codec = {.buffer = proto_new(COMMAND_APP, "")};
    if (codec.buffer) {
        app_code(&codec, app);
    }
    return finish(&codec, big);
}

static opal_buffer_t *pack_proc(struct wire_proc *proc, bool *big)
{
    struct codec codec = {.buffer = proto_new(COMMAND_START, "")};
    if (codec.buffer) {
        proc_code(&codec, proc);
    }
    return finish(&codec, big);
}

opal_buffer_t *command_app(uint32_t app, const struct start_app *spec)
{
    struct wire_app wire = {.app = app,
                            .kind = spec->kind,
                            .out = spec->out,
                            .err = spec->err,
                            .window = spec->window,
                            .socket = spec->socket,
                            .program = (char *) (uintptr_t) spec->program,
                            .wdir = (char *) (uintptr_t) spec->wdir,
                            .argv = (char **) (uintptr_t) spec->argv,
                            .env = (char **) (uintptr_t) spec->env};
    bool big;
    opal_buffer_t *command = pack_app(&wire, &big);
    return big ? pack_app(&(struct wire_app){.app = app, .error = E2BIG}, &big) : command;
}

opal_buffer_t *command_start(uint32_t app, const struct start_proc *proc)
{
    struct wire_proc wire = {.app = app,
                             .id = proc->id,
                             .in = proc->in,
                             .cpus = (char *) (uintptr_t) proc->cpus,
                             .env = (char **) (uintptr_t) proc->env};
    bool big;
    opal_buffer_t *command = pack_proc(&wire, &big);
    return big ? pack_proc(&(struct wire_proc){.app = UINT32_MAX, .id = proc->id}, &big) : command;
}

int command_read_app(opal_buffer_t *buffer, struct wire_app *app)
{
    struct codec codec = {.buffer = buffer, .unpacks = true};
    *app = (struct wire_app){0};
    app_code(&codec, app);
    if (codec.status != ORTE_SUCCESS) {
        wire_app_fini(app);
    }
    return codec.status;
}

int command_read_start(opal_buffer_t *buffer, struct wire_proc *proc)
{
    struct codec codec = {.buffer = buffer, .unpacks = true};
    *proc = (struct wire_proc){0};
    proc_code(&codec, proc);
    if (codec.status != ORTE_SUCCESS) {
        wire_proc_fini(proc);
    }
    return codec.status;
}

void wire_app_fini(struct wire_app *app)
{
    free(app->program);
    free(app->wdir);
    strings_free(app->argv);
    strings_free(app->env);
    *app = (struct wire_app){0};
}

void wire_proc_fini(struct wire_proc *proc)
{
    free(proc->cpus);
    strings_free(proc->env);
    *proc = (struct wire_proc){0};
}
