/* Contact strings: my own, taken apart, given to all by buffers, and used: messages then go from
 * process to process without a daemon between. */
#include "old.h"

#include "opal/util/argv.h"
#include "orte/mca/rml/base/rml_contact.h"

static void my_own(void)
{
    char *contact = orte_rml.get_contact_info();
    char **addresses = NULL;
    orte_process_name_t name;
    int i;

    CHECK(NULL != contact);
    CHECK(ORTE_SUCCESS == orte_rml_base_parse_uris(contact, &name, &addresses));
    CHECK(OPAL_EQUAL == orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &name, ORTE_PROC_MY_NAME));
    CHECK(0 < opal_argv_count(addresses));
    for (i = 0; addresses && addresses[i]; i++) {
        CHECK(strstr(addresses[i], "://") != NULL && strchr(addresses[i], ';') == NULL);
        CHECK(strstr(contact, addresses[i]) != NULL);
    }
    opal_argv_free(addresses);
    CHECK(ORTE_SUCCESS == orte_rml_base_parse_uris(contact, NULL, NULL));
    CHECK(ORTE_SUCCESS == orte_rml.set_contact_info(contact)); /* my own: nothing to note */
    free(contact);

    CHECK(ORTE_ERR_BAD_PARAM == orte_rml_base_parse_uris("1.2", &name, NULL));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml_base_parse_uris("tcp://127.0.0.1:1", &name, NULL));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.set_contact_info("no contact"));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.set_contact_info(NULL));
}

static int count_strings(opal_buffer_t *buffer)
{
    char *text = NULL;
    int32_t one = 1;
    int found = 0;

    while (OPAL_SUCCESS == opal_dss.unpack(buffer, &text, &one, OPAL_STRING)) {
        free(text);
        found++;
        one = 1;
    }
    return found;
}

/* Rank 0 gathers everybody's, and gives all of them to everybody. */
static void exchange(void)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t), *all;
    orte_process_name_t peer;
    orte_vpid_t rank, ranks = orte_process_info.num_procs;

    CHECK(ORTE_SUCCESS == orte_rml_base_get_contact_info(ORTE_PROC_MY_NAME->jobid, buffer));
    CHECK(0 < orte_rml.send_buffer(rank_name(&peer, 0), buffer, MY_TAG, 0));
    OBJ_RELEASE(buffer);
    if (0 == ORTE_PROC_MY_NAME->vpid) {
        for (rank = 0; rank < ranks; rank++) {
            buffer = OBJ_NEW(opal_buffer_t);
            CHECK(0 < orte_rml.recv_buffer(rank_name(&peer, rank), buffer, MY_TAG, 0));
            CHECK(ORTE_SUCCESS == orte_rml_base_update_contact_info(buffer));
            OBJ_RELEASE(buffer);
        }
        all = OBJ_NEW(opal_buffer_t);
        CHECK(ORTE_SUCCESS == orte_rml_base_get_contact_info(ORTE_PROC_MY_NAME->jobid, all));
        for (rank = 0; rank < ranks; rank++) {
            CHECK(0 < orte_rml.send_buffer(rank_name(&peer, rank), all, MY_TAG + 1, 0));
        }
        OBJ_RELEASE(all);
    }
    buffer = OBJ_NEW(opal_buffer_t);
    CHECK(0 < orte_rml.recv_buffer(rank_name(&peer, 0), buffer, MY_TAG + 1, 0));
    CHECK(ORTE_SUCCESS == orte_rml_base_update_contact_info(buffer));
    OBJ_RELEASE(buffer);

    buffer = OBJ_NEW(opal_buffer_t);
    CHECK(ORTE_SUCCESS == orte_rml_base_get_contact_info(ORTE_JOBID_WILDCARD, buffer));
    CHECK((int) ranks == count_strings(buffer));
    CHECK(ORTE_ERR_NOT_FOUND == orte_rml_base_get_contact_info(12345, buffer));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml_base_get_contact_info(ORTE_JOBID_INVALID, buffer));
    OBJ_RELEASE(buffer);
}

static void use(void)
{
    orte_process_name_t peer;
    orte_vpid_t rank, ranks = orte_process_info.num_procs, came;
    struct iovec msg;

    for (rank = 0; rank < ranks; rank++) {
        msg.iov_base = &ORTE_PROC_MY_NAME->vpid;
        msg.iov_len = sizeof(came);
        CHECK((int) sizeof(came) == orte_rml.send(rank_name(&peer, rank), &msg, 1, MY_TAG + 2, 0));
    }
    for (rank = 0; rank < ranks; rank++) {
        came = ORTE_VPID_INVALID;
        msg.iov_base = &came;
        CHECK((int) sizeof(came) == orte_rml.recv(rank_name(&peer, rank), &msg, 1, MY_TAG + 2, 0));
        CHECK(came == rank);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    my_own();
    exchange();
    use();
    return end();
}
