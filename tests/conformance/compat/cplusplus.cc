// The old headers in C++: every kind of declaration and macro is used once.
#include "old.h"

#include "opal/class/opal_list.h"
#include "opal/util/output.h"

namespace
{

struct item_t {
    opal_list_item_t super;
    int number;
};

void construct(item_t *item)
{
    item->number = 42;
}

bool done;

void handle(int, short, void *data)
{
    orte_message_event_t *event = static_cast<orte_message_event_t *>(data);
    int32_t number = 0, count = 1;
    CHECK(opal_dss.unpack(event->buffer, &number, &count, OPAL_INT32) == OPAL_SUCCESS);
    CHECK(number == 7);
    OBJ_RELEASE(event);
    done = true;
}

void heard(int status, orte_process_name_t *sender, opal_buffer_t *buffer, orte_rml_tag_t tag,
           void *)
{
    CHECK(status == ORTE_SUCCESS);
    ORTE_MESSAGE_EVENT(sender, buffer, tag, handle);
}

} // namespace

OBJ_CLASS_DECLARATION(item_t);
OBJ_CLASS_INSTANCE(item_t, opal_list_item_t, construct, NULL);

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    opal_list_t list;
    OBJ_CONSTRUCT(&list, opal_list_t);
    item_t *item = OBJ_NEW(item_t);
    CHECK(item->number == 42);
    opal_list_append(&list, &item->super);
    CHECK(opal_list_remove_first(&list) == &item->super);
    OBJ_RELEASE(item);
    OBJ_DESTRUCT(&list);

    orte_process_name_t left, right;
    left_of(&left);
    CHECK(orte_rml.recv_buffer_nb(&left, MY_TAG, ORTE_RML_NON_PERSISTENT, heard, NULL) ==
          ORTE_SUCCESS);
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    int32_t number = 7;
    CHECK(opal_dss.pack(buffer, &number, 1, OPAL_INT32) == OPAL_SUCCESS);
    CHECK(orte_rml.send_buffer(right_of(&right), buffer, MY_TAG, 0) > 0);
    OBJ_RELEASE(buffer);
    ORTE_PROGRESSED_WAIT(done, 0, 1);
    opal_output_verbose(1, 0, "%s is done", ORTE_NAME_PRINT(ORTE_PROC_MY_NAME));
    return end();
}
