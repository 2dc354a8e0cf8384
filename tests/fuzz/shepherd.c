/* What a daemon commands its shepherd to do. */
#include <config.h>

#include <launcher/shepherd/shepherd_wire.h>
#include <tests/fuzz/fuzz.h>
#include <wireup/frame.h>
#include <wireup/proto.h>

static void read_command(opal_buffer_t *command)
{
    uint8_t kind = 0;
    struct wire_app app = {0};
    struct wire_proc proc = {0};
    int status = proto_unpack(command, "c", &kind);
    if (status == ORTE_SUCCESS && kind == COMMAND_APP) {
        status = command_read_app(command, &app);
        fuzz_check((status == ORTE_SUCCESS) == (app.argv && app.env),
                   "an app is whole, or nothing");
    } else if (status == ORTE_SUCCESS) {
        status = command_read_start(command, &proc);
        fuzz_check((status == ORTE_SUCCESS) == (proc.env != NULL),
                   "a process is whole, or nothing");
    }
    wire_app_fini(&app);
    wire_proc_fini(&proc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    opal_buffer_t *command;
    struct bytes queue = {.tail = size, .capacity = size};
    queue.data = (char *) feed_copy(&feed, size, &size);
    while (frame_next(&queue, COMMAND_BYTES_MAX, &command) == ORTE_SUCCESS && command) {
        fuzz_check(queue.head <= queue.tail, "a command lies in the queue");
        read_command(command);
        OBJ_RELEASE(command);
    }
    bytes_fini(&queue);
    return 0;
}
