/* Buffers that travel: types, described and not, one to many, sent again and passed on. */
#include "old.h"

#include "opal/dss/dss.h"

enum { PLAIN = MY_TAG, DESCRIBED, PASSED_ON, PASSED_BACK }; /* no rank waits for the others */

static void pack_values(opal_buffer_t *buffer, orte_vpid_t from)
{
    bool yes = true;
    char *text = (char *) "a text", *none = NULL;
    int32_t numbers[3] = {-1, 0, 1};
    uint64_t large = UINT64_MAX - from;
    size_t size = 4711;
    pid_t pid = 17;
    uint8_t bytes[4] = {1, 2, 3, 4};
    opal_byte_object_t object = {sizeof(bytes), bytes}, *packed = &object;
    orte_process_name_t name = {ORTE_PROC_MY_NAME->jobid, from};
    orte_std_cntr_t counter = 12;

    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &yes, 1, OPAL_BOOL));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &text, 1, OPAL_STRING));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &none, 1, OPAL_STRING));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, numbers, 3, OPAL_INT32));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &large, 1, OPAL_UINT64));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &size, 1, OPAL_SIZE));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &pid, 1, OPAL_PID));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &packed, 1, OPAL_BYTE_OBJECT));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &name, 1, ORTE_NAME));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &counter, 1, ORTE_STD_CNTR));
}

static void take(opal_buffer_t *buffer, void *to, int32_t expected, opal_data_type_t type)
{
    int32_t count = expected;
    CHECK(OPAL_SUCCESS == opal_dss.unpack(buffer, to, &count, type));
    CHECK(count == expected);
}

static void check_values(opal_buffer_t *buffer, orte_vpid_t from)
{
    bool yes = false;
    char *text = NULL, *none = (char *) "";
    int32_t numbers[3] = {7, 7, 7}, count = 1;
    uint64_t large = 0;
    size_t size = 0;
    pid_t pid = 0;
    opal_byte_object_t *object = NULL;
    orte_process_name_t name = {0, 0};
    orte_std_cntr_t counter = 0;

    take(buffer, &yes, 1, OPAL_BOOL);
    take(buffer, &text, 1, OPAL_STRING);
    take(buffer, &none, 1, OPAL_STRING);
    take(buffer, numbers, 3, OPAL_INT32);
    take(buffer, &large, 1, OPAL_UINT64);
    take(buffer, &size, 1, OPAL_SIZE);
    take(buffer, &pid, 1, OPAL_PID);
    take(buffer, &object, 1, OPAL_BYTE_OBJECT);
    take(buffer, &name, 1, ORTE_NAME);
    take(buffer, &counter, 1, ORTE_STD_CNTR);
    CHECK(yes && text && strcmp(text, "a text") == 0 && none == NULL);
    CHECK(numbers[0] == -1 && numbers[1] == 0 && numbers[2] == 1);
    CHECK(large == UINT64_MAX - from && size == 4711 && pid == 17 && counter == 12);
    CHECK(object && object->size == 4 && object->bytes[3] == 4);
    CHECK(name.jobid == ORTE_PROC_MY_NAME->jobid && name.vpid == from);
    CHECK(OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER ==
          opal_dss.unpack(buffer, &counter, &count, OPAL_INT32));
    free(text);
    free(object->bytes);
    free(object);
}

/* One buffer to everybody, in a loop; everybody takes one from each, in any order. */
static void all_to_all(opal_dss_buffer_type_t type, orte_rml_tag_t tag)
{
    opal_buffer_t out, in;
    orte_process_name_t peer;
    orte_vpid_t rank, from;
    int rc;

    OBJ_CONSTRUCT(&out, opal_buffer_t);
    CHECK(OPAL_SUCCESS == opal_dss.set_buffer_type(&out, type));
    from = ORTE_PROC_MY_NAME->vpid;
    CHECK(OPAL_SUCCESS == opal_dss.pack(&out, &from, 1, ORTE_VPID));
    pack_values(&out, from);
    for (rank = 0; rank < orte_process_info.num_procs; rank++) {
        rc = orte_rml.send_buffer(rank_name(&peer, rank), &out, tag, 0);
        CHECK(rc == (int) out.bytes_used);
    }
    OBJ_DESTRUCT(&out);
    for (rank = 0; rank < orte_process_info.num_procs; rank++) {
        OBJ_CONSTRUCT(&in, opal_buffer_t);
        CHECK(0 < orte_rml.recv_buffer(ORTE_NAME_WILDCARD, &in, tag, 0));
        CHECK(in.type == type);
        take(&in, &from, 1, ORTE_VPID);
        check_values(&in, from);
        OBJ_DESTRUCT(&in);
    }
}

/* What came is passed on: by copy_payload, and by unload and load. */
static void pass_on(void)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t), *copy = OBJ_NEW(opal_buffer_t);
    orte_process_name_t left, right;
    void *payload = NULL;
    int32_t size = 0, number = 5;

    left_of(&left);
    right_of(&right);
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &number, 1, OPAL_INT32));
    pack_values(buffer, ORTE_PROC_MY_NAME->vpid);
    CHECK(0 < orte_rml.send_buffer(&right, buffer, PASSED_ON, 0));
    OBJ_RELEASE(buffer);
    CHECK(NULL == buffer);

    buffer = OBJ_NEW(opal_buffer_t);
    CHECK(0 < orte_rml.recv_buffer(&left, buffer, PASSED_ON, 0));
    take(buffer, &number, 1, OPAL_INT32);
    CHECK(OPAL_SUCCESS == opal_dss.copy_payload(copy, buffer)); /* without the number */
    check_values(copy, left.vpid);
    CHECK(OPAL_SUCCESS == opal_dss.unload(buffer, &payload, &size));
    CHECK(payload != NULL && size > 0);
    CHECK(OPAL_SUCCESS == opal_dss.load(copy, payload, size));
    CHECK(size ==
          orte_rml.send_buffer(&left, copy, PASSED_BACK, 0)); /* back to where it came from */
    OBJ_RELEASE(copy);
    CHECK(size == orte_rml.recv_buffer(&right, buffer, PASSED_BACK, 0));
    take(buffer, &number, 1, OPAL_INT32);
    CHECK(5 == number);
    check_values(buffer, ORTE_PROC_MY_NAME->vpid);
    OBJ_RELEASE(buffer);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    all_to_all(OPAL_DSS_BUFFER_NON_DESC, PLAIN);
    pass_on();
    all_to_all(OPAL_DSS_BUFFER_FULLY_DESC, DESCRIBED);
    return end();
}
