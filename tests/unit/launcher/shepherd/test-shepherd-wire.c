#include <config.h>

#include <errno.h>
#include <launcher/shepherd/shepherd_wire.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static struct bytes queue;

static char *const argv_in[] = {(char *) "prog", (char *) "", (char *) "a b", NULL};
static char *const env_in[] = {(char *) "A=1", (char *) "B=", NULL};

static void put_app(void)
{
    struct start_app spec = {.kind = PROC_AGENT,
                             .program = "/bin/prog",
                             .argv = argv_in,
                             .env = env_in,
                             .wdir = "/tmp",
                             .out = STDIO_PTY,
                             .window = {25, 132},
                             .err = STDIO_INHERIT,
                             .socket = true};
    ck_assert_int_eq(command_put_app(&queue, 7, &spec), ORTE_SUCCESS);
}

static void put_start(const char *cpus)
{
    struct start_proc proc = {.id = 9, .env = env_in, .cpus = cpus, .in = STDIO_PIPE};
    ck_assert_int_eq(command_put_start(&queue, 7, &proc), ORTE_SUCCESS);
}

static struct command next(enum command_type type)
{
    struct command command;
    ck_assert_int_gt(command_next(&queue, &command), 0);
    ck_assert_int_eq(command.type, type);
    return command;
}

START_TEST(test_an_app_arrives_whole)
{
    struct wire_app *app;
    put_app();
    struct command command = next(COMMAND_APP);
    ck_assert_int_eq(command_get_app(&command, &app), ORTE_SUCCESS);
    ck_assert_uint_eq(app->app, 7);
    ck_assert_int_eq(app->kind, PROC_AGENT);
    ck_assert_int_eq(app->out, STDIO_PTY);
    ck_assert(app->window.rows == 25 && app->window.columns == 132);
    ck_assert_int_eq(app->err, STDIO_INHERIT);
    ck_assert(app->socket);
    ck_assert_int_eq(app->error, 0);
    ck_assert_str_eq(app->program, "/bin/prog");
    ck_assert_str_eq(app->wdir, "/tmp");
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(app->argv[i], argv_in[i]);
    }
    ck_assert_ptr_null(app->argv[3]);
    ck_assert_uint_eq(app->env_count, 2);
    ck_assert_str_eq(app->env[1], "B=");
    ck_assert_ptr_null(app->env[2]);
    free(app);
    bytes_fini(&queue);
}
END_TEST

START_TEST(test_an_app_without_a_program_arrives)
{
    struct wire_app *app;
    struct start_app spec = {.kind = PROC_AGENT, .wdir = "/tmp"};
    ck_assert_int_eq(command_put_app(&queue, 0, &spec), ORTE_SUCCESS);
    struct command command = next(COMMAND_APP);
    ck_assert_int_eq(command_get_app(&command, &app), ORTE_SUCCESS);
    ck_assert_ptr_null(app->program);
    ck_assert_str_eq(app->wdir, "/tmp");
    ck_assert_ptr_null(app->argv[0]);
    free(app);
    bytes_fini(&queue);
}
END_TEST

START_TEST(test_a_process_arrives_whole)
{
    struct wire_proc proc;
    put_start("3,1500-1501");
    struct command command = next(COMMAND_START);
    ck_assert_int_eq(command_get_start(&command, &proc), ORTE_SUCCESS);
    ck_assert(proc.app == 7 && proc.id == 9 && proc.in == STDIO_PIPE);
    ck_assert_str_eq(proc.cpus, "3,1500-1501");
    ck_assert_uint_eq(proc.env_count, 2);
    ck_assert_mem_eq(proc.env, "A=1\0B=", 7);
    bytes_fini(&queue);
    put_start(NULL);
    command = next(COMMAND_START);
    ck_assert_int_eq(command_get_start(&command, &proc), ORTE_SUCCESS);
    ck_assert_ptr_null(proc.cpus);
    bytes_fini(&queue);
}
END_TEST

START_TEST(test_small_commands)
{
    struct command command;
    uint32_t id;
    int signal;
    mode_t mask;
    const char *folder;
    ck_assert_int_eq(command_put_signal(&queue, 4, 15), ORTE_SUCCESS);
    ck_assert_int_eq(command_put_guard(&queue, "/tmp/x"), ORTE_SUCCESS);
    ck_assert_int_eq(command_put_umask(&queue, 027), ORTE_SUCCESS);
    ck_assert_int_eq(command_put_umask(&queue, 01000), ORTE_SUCCESS);
    ck_assert_int_eq(command_put_plain(&queue, COMMAND_END), ORTE_SUCCESS);
    ptrdiff_t size = command_next(&queue, &command);
    ck_assert_int_eq(command_get_signal(&command, &id, &signal), ORTE_SUCCESS);
    ck_assert(id == 4 && signal == 15);
    ck_assert_int_ne(command_get_guard(&command, &folder), ORTE_SUCCESS);
    bytes_consume(&queue, (size_t) size);
    size = command_next(&queue, &command);
    ck_assert_int_eq(command_get_guard(&command, &folder), ORTE_SUCCESS);
    ck_assert_str_eq(folder, "/tmp/x");
    ck_assert_int_ne(command_get_signal(&command, &id, &signal), ORTE_SUCCESS);
    bytes_consume(&queue, (size_t) size);
    size = command_next(&queue, &command);
    ck_assert_int_eq(command_get_umask(&command, &mask), ORTE_SUCCESS);
    ck_assert_int_eq(mask, 027);
    bytes_consume(&queue, (size_t) size);
    size = command_next(&queue, &command);
    ck_assert_int_ne(command_get_umask(&command, &mask), ORTE_SUCCESS); /* too large */
    bytes_consume(&queue, (size_t) size);
    command = next(COMMAND_END);
    ck_assert_uint_eq(command.size, 0);
    bytes_fini(&queue);
}
END_TEST

START_TEST(test_half_a_command_waits_and_nonsense_is_refused)
{
    struct command command;
    put_app();
    size_t whole = queue.tail;
    for (queue.tail = 0; queue.tail < whole; queue.tail++) {
        ck_assert_int_eq(command_next(&queue, &command), 0);
    }
    ck_assert_int_eq(command_next(&queue, &command), (ptrdiff_t) whole);
    uint32_t huge = COMMAND_BODY_MAX + 1, zero = 0, many = COMMAND_TYPES;
    memcpy(queue.data + 4, &zero, 4);
    ck_assert_int_eq(command_next(&queue, &command), -1);
    memcpy(queue.data + 4, &many, 4);
    ck_assert_int_eq(command_next(&queue, &command), -1);
    memcpy(queue.data, &huge, 4);
    ck_assert_int_eq(command_next(&queue, &command), -1);
    bytes_fini(&queue);
}
END_TEST

static int decode(const struct command *command)
{
    struct wire_app *app = NULL;
    struct wire_proc proc;
    if (command->type == COMMAND_START) {
        return command_get_start(command, &proc);
    }
    int rc = command_get_app(command, &app);
    ck_assert((rc == ORTE_SUCCESS) == (app != NULL));
    free(app);
    return rc;
}

/* The body in memory of its own, so that a sanitizer sees a read beyond it. */
static int decode_copy(const struct command *command, size_t size)
{
    char *body = malloc(size + !size);
    memcpy(body, command->body, size);
    struct command copy = {command->type, body, size};
    int rc = decode(&copy);
    free(body);
    return rc;
}

START_TEST(test_damaged_bodies_are_refused)
{
    for (int pass = 0; pass < 2; pass++) {
        pass == 0 ? put_app() : put_start("0");
        struct command command = next(pass == 0 ? COMMAND_APP : COMMAND_START);
        char *body = (char *) (uintptr_t) command.body;
        for (size_t size = 0; size < command.size; size++) {
            ck_assert_int_eq(decode_copy(&command, size), ORTE_ERR_BAD_PARAM);
        }
        ck_assert_int_eq(decode_copy(&command, command.size), ORTE_SUCCESS);
        body[command.size - 1] = 'x'; /* the last string does not end */
        ck_assert_int_eq(decode_copy(&command, command.size), ORTE_ERR_BAD_PARAM);
        body[command.size - 1] = 0;
        for (size_t i = 0; i < command.size; i++) { /* any byte: no crash, whatever it means */
            char old = body[i];
            body[i] = (char) 0xff;
            (void) !decode_copy(&command, command.size);
            body[i] = old;
        }
        bytes_fini(&queue);
    }
}
END_TEST

START_TEST(test_what_is_too_big_is_said_to_be)
{
    char *big = malloc(COMMAND_BODY_MAX + 1);
    memset(big, 'x', COMMAND_BODY_MAX);
    big[COMMAND_BODY_MAX] = 0;
    char *const argv[] = {big, NULL};
    struct start_app spec = {.program = "/bin/prog", .argv = argv, .env = env_in};
    struct wire_app *app;
    ck_assert_int_eq(command_put_app(&queue, 1, &spec), ORTE_SUCCESS);
    struct command command = next(COMMAND_APP);
    ck_assert_int_eq(command_get_app(&command, &app), ORTE_SUCCESS);
    ck_assert_uint_eq(app->app, 1);
    ck_assert_int_eq(app->error, E2BIG);
    free(app);
    bytes_fini(&queue);
    struct start_proc proc = {.id = 9, .env = argv};
    struct wire_proc got;
    ck_assert_int_eq(command_put_start(&queue, 1, &proc), ORTE_SUCCESS);
    command = next(COMMAND_START);
    ck_assert_int_eq(command_get_start(&command, &got), ORTE_SUCCESS);
    ck_assert(got.id == 9 && got.app == UINT32_MAX);
    bytes_fini(&queue);
    free(big);
}
END_TEST

START_TEST(test_bytes_are_a_queue)
{
    struct bytes bytes = {0};
    uint8_t in = 0, out = 0;
    for (int round = 0; round < 5000; round++) {
        uint8_t some[7];
        for (int i = 0; i < 7; i++) {
            some[i] = in++;
        }
        ck_assert(bytes_append(&bytes, some, sizeof(some)));
        for (int i = 0; i < 6; i++) {
            ck_assert_uint_eq((uint8_t) bytes.data[bytes.head], out++);
            bytes_consume(&bytes, 1);
        }
    }
    ck_assert_uint_eq(bytes_waiting(&bytes), 5000);
    ck_assert_uint_lt(bytes.capacity, 40000);
    ck_assert(bytes_append(&bytes, NULL, 0));
    bytes_fini(&bytes);
}
END_TEST

UNIT_MAIN("shepherd-wire")
