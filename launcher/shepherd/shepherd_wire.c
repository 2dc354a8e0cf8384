#include <config.h>

#include <errno.h>
#include <launcher/shepherd/shepherd_wire.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct command_header {
    uint32_t size; /* of the body */
    uint32_t type;
};
struct app_body {
    uint32_t app, kind, out, err, socket, argc, envc;
    struct window window;
    int32_t error;
    uint32_t has_program, has_wdir;
}; /* then [program], [wdir], argv, env */
struct start_body {
    uint32_t app, id, in, bound, envc;
}; /* then [cpus], env */
struct signal_body {
    uint32_t id;
    int32_t signal;
};

static void put(struct bytes *to, const void *data, size_t size)
{
    if (size > 0) { /* an empty vector may be NULL */
        memcpy(to->data + to->tail, data, size);
        to->tail += size;
    }
}

static bool put_header(struct bytes *to, enum command_type type, size_t size)
{
    struct command_header header = {(uint32_t) size, (uint32_t) type};
    if (!bytes_reserve(to, sizeof(header) + size)) {
        return false;
    }
    put(to, &header, sizeof(header));
    return true;
}

static void put_string(struct bytes *to, const char *text)
{
    put(to, text, strlen(text) + 1);
}

static size_t vector_size(char *const *strings, uint32_t *count)
{
    size_t size = 0;
    *count = 0;
    for (; strings && strings[*count]; (*count)++) {
        size += strlen(strings[*count]) + 1;
    }
    return size;
}

static void put_vector(struct bytes *to, char *const *strings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        put_string(to, strings[i]);
    }
}

int command_put_app(struct bytes *to, uint32_t app, const struct start_app *spec)
{
    struct app_body body = {.app = app,
                            .kind = spec->kind,
                            .out = spec->out,
                            .err = spec->err,
                            .window = spec->window,
                            .socket = spec->socket,
                            .has_program = spec->program != NULL,
                            .has_wdir = spec->wdir != NULL};
    size_t size = sizeof(body) + (spec->program ? strlen(spec->program) + 1 : 0);
    size += spec->wdir ? strlen(spec->wdir) + 1 : 0;
    size += vector_size(spec->argv, &body.argc);
    size += vector_size(spec->env, &body.envc);
    if (size > COMMAND_BODY_MAX) {
        body = (struct app_body){.app = app, .error = E2BIG};
        size = sizeof(body);
    }
    if (!put_header(to, COMMAND_APP, size)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    put(to, &body, sizeof(body));
    if (body.error) {
        return ORTE_SUCCESS;
    }
    if (spec->program) {
        put_string(to, spec->program);
    }
    if (spec->wdir) {
        put_string(to, spec->wdir);
    }
    put_vector(to, spec->argv, body.argc);
    put_vector(to, spec->env, body.envc);
    return ORTE_SUCCESS;
}

int command_put_start(struct bytes *to, uint32_t app, const struct start_proc *proc)
{
    struct start_body body = {
        .app = app, .id = proc->id, .in = proc->in, .bound = proc->cpus != NULL};
    size_t size = sizeof(body) + (proc->cpus ? strlen(proc->cpus) + 1 : 0);
    size += vector_size(proc->env, &body.envc);
    if (size > COMMAND_BODY_MAX) {
        body = (struct start_body){.app = UINT32_MAX, .id = proc->id};
        size = sizeof(body);
    }
    if (!put_header(to, COMMAND_START, size)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    put(to, &body, sizeof(body));
    if (body.bound) {
        put_string(to, proc->cpus);
    }
    put_vector(to, proc->env, body.envc);
    return ORTE_SUCCESS;
}

int command_put_signal(struct bytes *to, uint32_t id, int signal)
{
    struct signal_body body = {id, signal};
    if (!put_header(to, COMMAND_SIGNAL, sizeof(body))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    put(to, &body, sizeof(body));
    return ORTE_SUCCESS;
}

int command_put_umask(struct bytes *to, mode_t mask)
{
    uint32_t body = mask;
    if (!put_header(to, COMMAND_UMASK, sizeof(body))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    put(to, &body, sizeof(body));
    return ORTE_SUCCESS;
}

int command_put_plain(struct bytes *to, enum command_type type)
{
    return put_header(to, type, 0) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

int command_put_guard(struct bytes *to, const char *folder)
{
    if (!put_header(to, COMMAND_GUARD, strlen(folder) + 1)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    put_string(to, folder);
    return ORTE_SUCCESS;
}

ptrdiff_t command_next(const struct bytes *from, struct command *command)
{
    struct command_header header;
    size_t waiting = bytes_waiting(from);
    if (waiting < sizeof(header)) {
        return 0;
    }
    memcpy(&header, from->data + from->head, sizeof(header));
    if (header.size > COMMAND_BODY_MAX || header.type < COMMAND_APP ||
        header.type >= COMMAND_TYPES) {
        return -1;
    }
    if (waiting - sizeof(header) < header.size) {
        return 0;
    }
    *command = (struct command){(enum command_type) header.type,
                                from->data + from->head + sizeof(header), header.size};
    return (ptrdiff_t) (sizeof(header) + header.size);
}

/* What is left of a command's body. */
struct rest {
    char *at;
    size_t size;
};

static char *take_string(struct rest *rest)
{
    char *end = memchr(rest->at, 0, rest->size);
    if (!end) {
        return NULL;
    }
    char *text = rest->at;
    rest->size -= (size_t) (end + 1 - text);
    rest->at = end + 1;
    return text;
}

static bool take_vector(struct rest *rest, char **strings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        strings[i] = take_string(rest);
        if (!strings[i]) {
            return false;
        }
    }
    strings[count] = NULL;
    return true;
}

static bool stdio_valid(uint32_t kind)
{
    return kind <= STDIO_PTY;
}

/* Fills an app whose memory has room for its vectors and, behind them, for the strings. */
static bool fill_app(struct wire_app *app, const struct app_body *body,
                     const struct command *command)
{
    app->argv = (char **) (app + 1);
    app->env = app->argv + body->argc + 1;
    struct rest rest = {(char *) (app->env + body->envc + 1), command->size - sizeof(*body)};
    memcpy(rest.at, command->body + sizeof(*body), rest.size);
    app->program = body->has_program ? take_string(&rest) : NULL;
    bool whole = app->program || !body->has_program;
    app->wdir = body->has_wdir && whole ? take_string(&rest) : NULL;
    return whole && (app->wdir || !body->has_wdir) && take_vector(&rest, app->argv, body->argc) &&
           take_vector(&rest, app->env, body->envc) && rest.size == 0;
}

int command_get_app(const struct command *command, struct wire_app **out)
{
    struct app_body body;
    if (command->size < sizeof(body)) {
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(&body, command->body, sizeof(body));
    size_t text = command->size - sizeof(body); /* every string has at least one byte */
    if (body.kind > PROC_STEP || !stdio_valid(body.out) ||
        (!stdio_valid(body.err) && body.err != STDIO_MERGED) || body.socket > 1 ||
        body.argc > text || body.envc > text) {
        return ORTE_ERR_BAD_PARAM;
    }
    size_t vectors = ((size_t) body.argc + body.envc + 2) * sizeof(char *);
    struct wire_app *app = calloc(1, sizeof(*app) + vectors + text);
    if (!app) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    app->app = body.app;
    app->kind = (enum proc_kind) body.kind;
    app->out = (enum proc_stdio) body.out;
    app->err = (enum proc_stdio) body.err;
    app->window = body.window;
    app->socket = body.socket;
    app->error = body.error;
    app->env_count = body.envc;
    if (!fill_app(app, &body, command)) {
        free(app);
        return ORTE_ERR_BAD_PARAM;
    }
    *out = app;
    return ORTE_SUCCESS;
}

/* What stands behind this many strings; NULL: they do not end. */
static const char *skip_strings(const char *at, size_t *left, uint32_t count)
{
    for (; count > 0 && at; count--) {
        const char *end = memchr(at, 0, *left);
        *left -= end ? (size_t) (end + 1 - at) : 0;
        at = end ? end + 1 : NULL;
    }
    return at;
}

int command_get_start(const struct command *command, struct wire_proc *out)
{
    struct start_body body;
    if (command->size < sizeof(body)) {
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(&body, command->body, sizeof(body));
    struct wire_proc proc = {
        .app = body.app, .id = body.id, .in = (enum proc_stdio) body.in, .env_count = body.envc};
    const char *at = command->body + sizeof(body);
    size_t left = command->size - sizeof(body);
    if (!stdio_valid(body.in) || body.bound > 1) {
        return ORTE_ERR_BAD_PARAM;
    }
    proc.cpus = body.bound ? at : NULL;
    proc.env = skip_strings(at, &left, body.bound);
    if (!proc.env || !skip_strings(proc.env, &left, body.envc) || left > 0) {
        return ORTE_ERR_BAD_PARAM;
    }
    *out = proc;
    return ORTE_SUCCESS;
}

int command_get_signal(const struct command *command, uint32_t *id, int *signal)
{
    struct signal_body body;
    if (command->size != sizeof(body)) {
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(&body, command->body, sizeof(body));
    if (body.signal < 0 || body.signal >= NSIG) {
        return ORTE_ERR_BAD_PARAM;
    }
    *id = body.id;
    *signal = body.signal;
    return ORTE_SUCCESS;
}

int command_get_umask(const struct command *command, mode_t *mask)
{
    uint32_t body;
    if (command->size != sizeof(body)) {
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(&body, command->body, sizeof(body));
    if (body > 0777) {
        return ORTE_ERR_BAD_PARAM;
    }
    *mask = body;
    return ORTE_SUCCESS;
}

int command_get_guard(const struct command *command, const char **folder)
{
    if (command->size < 2 || command->body[0] != '/' ||
        memchr(command->body, 0, command->size) != command->body + command->size - 1) {
        return ORTE_ERR_BAD_PARAM;
    }
    *folder = command->body;
    return ORTE_SUCCESS;
}
