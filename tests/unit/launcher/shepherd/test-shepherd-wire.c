#include <config.h>

#include <base/data/bytes.h>
#include <errno.h>
#include <launcher/shepherd/shepherd_wire.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <wireup/proto.h>

static char *const argv_in[] = {(char *) "prog", (char *) "", (char *) "a b", NULL};
static char *const env_in[] = {(char *) "A=1", (char *) "B=", NULL};

static opal_buffer_t *make_app(void)
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
    return command_app(7, &spec);
}

static opal_buffer_t *make_start(const char *cpus)
{
    struct start_proc proc = {.id = 9, .env = env_in, .cpus = cpus, .in = STDIO_PIPE};
    return command_start(7, &proc);
}

/* Releases the command when all of it was read. */
static void read_app(opal_buffer_t *command, struct wire_app *app)
{
    uint8_t kind;
    ck_assert_int_eq(proto_unpack(command, "c", &kind), ORTE_SUCCESS);
    ck_assert_int_eq(kind, COMMAND_APP);
    ck_assert_int_eq(command_read_app(command, app), ORTE_SUCCESS);
    ck_assert_uint_eq(proto_left(command), 0);
    OBJ_RELEASE(command);
}

static void read_start(opal_buffer_t *command, struct wire_proc *proc)
{
    uint8_t kind;
    ck_assert_int_eq(proto_unpack(command, "c", &kind), ORTE_SUCCESS);
    ck_assert_int_eq(kind, COMMAND_START);
    ck_assert_int_eq(command_read_start(command, proc), ORTE_SUCCESS);
    ck_assert_uint_eq(proto_left(command), 0);
    OBJ_RELEASE(command);
}

START_TEST(test_an_app_arrives_whole)
{
    struct wire_app app;
    read_app(make_app(), &app);
    ck_assert_uint_eq(app.app, 7);
    ck_assert_int_eq(app.kind, PROC_AGENT);
    ck_assert_int_eq(app.out, STDIO_PTY);
    ck_assert(app.window.rows == 25 && app.window.columns == 132);
    ck_assert_int_eq(app.err, STDIO_INHERIT);
    ck_assert(app.socket);
    ck_assert_uint_eq(app.error, 0);
    ck_assert_str_eq(app.program, "/bin/prog");
    ck_assert_str_eq(app.wdir, "/tmp");
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(app.argv[i], argv_in[i]);
    }
    ck_assert_ptr_null(app.argv[3]);
    ck_assert_str_eq(app.env[1], "B=");
    ck_assert_ptr_null(app.env[2]);
    wire_app_fini(&app);
}
END_TEST

START_TEST(test_an_app_without_a_program_arrives)
{
    struct wire_app app;
    struct start_app spec = {.kind = PROC_AGENT, .wdir = "/tmp"};
    read_app(command_app(0, &spec), &app);
    ck_assert_ptr_null(app.program);
    ck_assert_str_eq(app.wdir, "/tmp");
    ck_assert_ptr_null(app.argv[0]);
    wire_app_fini(&app);
}
END_TEST

START_TEST(test_a_process_arrives_whole)
{
    struct wire_proc proc;
    read_start(make_start("3,1500-1501"), &proc);
    ck_assert(proc.app == 7 && proc.id == 9 && proc.in == STDIO_PIPE);
    ck_assert_str_eq(proc.cpus, "3,1500-1501");
    ck_assert_str_eq(proc.env[0], "A=1");
    ck_assert_str_eq(proc.env[1], "B=");
    ck_assert_ptr_null(proc.env[2]);
    wire_proc_fini(&proc);
    read_start(make_start(NULL), &proc);
    ck_assert_ptr_null(proc.cpus);
    wire_proc_fini(&proc);
}
END_TEST

/* The values behind the first byte, so many bytes of them. */
static int decode(opal_buffer_t *command, size_t size)
{
    char *copy = malloc(size + !size);
    opal_buffer_t *part = OBJ_NEW(opal_buffer_t);
    uint8_t kind = 0;
    struct wire_app app = {0};
    struct wire_proc proc = {0};
    memcpy(copy, command->base_ptr, size);
    ck_assert_int_eq(opal_dss.load(part, copy, (int32_t) size), ORTE_SUCCESS);
    int status = proto_unpack(part, "c", &kind);
    if (status == ORTE_SUCCESS) {
        status =
            kind == COMMAND_APP ? command_read_app(part, &app) : command_read_start(part, &proc);
    }
    ck_assert(status == ORTE_SUCCESS || (!app.argv && !app.env && !proc.env));
    wire_app_fini(&app);
    wire_proc_fini(&proc);
    OBJ_RELEASE(part);
    return status;
}

START_TEST(test_damaged_commands_are_refused)
{
    for (int pass = 0; pass < 2; pass++) {
        opal_buffer_t *command = pass == 0 ? make_app() : make_start("0");
        for (size_t size = 0; size < command->bytes_used; size++) {
            ck_assert_int_ne(decode(command, size), ORTE_SUCCESS);
        }
        ck_assert_int_eq(decode(command, command->bytes_used), ORTE_SUCCESS);
        for (size_t i = 0; i < command->bytes_used; i++) { /* no crash, whatever it means */
            char old = command->base_ptr[i];
            command->base_ptr[i] = (char) 0xff;
            (void) decode(command, command->bytes_used);
            command->base_ptr[i] = old;
        }
        OBJ_RELEASE(command);
    }
}
END_TEST

START_TEST(test_values_that_cannot_be_are_refused)
{
    struct start_app apps[] = {{.kind = PROC_STEP + 1}, {.out = STDIO_MERGED}, {.err = 5}};
    struct start_proc proc = {.in = STDIO_MERGED};
    for (size_t i = 0; i < sizeof(apps) / sizeof(*apps); i++) {
        opal_buffer_t *command = command_app(0, &apps[i]);
        ck_assert_int_eq(decode(command, command->bytes_used), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
        OBJ_RELEASE(command);
    }
    opal_buffer_t *command = command_start(0, &proc);
    ck_assert_int_eq(decode(command, command->bytes_used), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    OBJ_RELEASE(command);
}
END_TEST

static void check_too_big(char *const *argv)
{
    struct start_app spec = {.program = "/bin/prog", .argv = argv, .env = env_in};
    struct start_proc proc = {.id = 9, .env = argv};
    struct wire_app app;
    struct wire_proc got;
    read_app(command_app(1, &spec), &app);
    ck_assert_uint_eq(app.app, 1);
    ck_assert_uint_eq(app.error, E2BIG);
    wire_app_fini(&app);
    read_start(command_start(1, &proc), &got);
    ck_assert(got.id == 9 && got.app == UINT32_MAX);
    wire_proc_fini(&got);
}

START_TEST(test_what_is_too_big_is_said_to_be)
{
    const size_t many = (1u << 20) + 1;
    char *big = malloc(COMMAND_BYTES_MAX + 1);
    char **empty = calloc(many + 1, sizeof(*empty));
    memset(big, 'x', COMMAND_BYTES_MAX);
    big[COMMAND_BYTES_MAX] = 0;
    check_too_big((char *const[]){big, NULL});
    for (size_t i = 0; i < many; i++) {
        empty[i] = (char *) (uintptr_t) "";
    }
    check_too_big(empty);
    free(empty);
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
