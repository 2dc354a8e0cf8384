/* Errors: their codes, names and the log. "errors abort" ends the job with 7. */
#include "old.h"

static void bad_arguments(void)
{
    orte_process_name_t peer, nobody;
    struct iovec msg;
    char data[4] = "abc";
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);

    msg.iov_base = data;
    msg.iov_len = sizeof(data);
    rank_name(&peer, 0);
    rank_name(&nobody, orte_process_info.num_procs + 1000);
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.send(&peer, &msg, 1, ORTE_RML_TAG_INVALID, 0));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.send(NULL, &msg, 1, MY_TAG, 0));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.send(&peer, NULL, 1, MY_TAG, 0));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.send(&peer, &msg, -1, MY_TAG, 0));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.send(ORTE_NAME_WILDCARD, &msg, 1, MY_TAG, 0));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.send_buffer(&peer, NULL, MY_TAG, 0));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.recv(&peer, &msg, 1, ORTE_RML_TAG_INVALID, 0));
    CHECK(ORTE_ERR_BAD_PARAM == orte_rml.recv_buffer_nb(&peer, MY_TAG, 0, NULL, NULL));
    CHECK(ORTE_ERR_ADDRESSEE_UNKNOWN == orte_rml.send(&nobody, &msg, 1, MY_TAG, 0));
    CHECK(ORTE_ERR_ADDRESSEE_UNKNOWN == orte_rml.send_buffer(&nobody, buffer, MY_TAG, 0));
    CHECK(ORTE_ERR_NOT_FOUND == orte_rml.recv_cancel(&peer, MY_TAG));
    OBJ_RELEASE(buffer);
}

static void names(void)
{
    CHECK(strcmp(ORTE_ERROR_NAME(ORTE_SUCCESS), ORTE_ERROR_NAME(ORTE_ERROR)) != 0);
    CHECK(strcmp(ORTE_ERROR_NAME(ORTE_ERR_ADDRESSEE_UNKNOWN), "addressee unknown") == 0);
    CHECK(NULL != ORTE_ERROR_NAME(12345));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    bad_arguments();
    names();
    ORTE_ERROR_LOG(ORTE_SUCCESS); /* silent, like the next */
    ORTE_ERROR_LOG(ORTE_ERR_SILENT);
    ORTE_ERROR_LOG(ORTE_ERR_NOT_FOUND);
    if (argc > 1 && strcmp(argv[1], "abort") == 0) {
        if (0 == ORTE_PROC_MY_NAME->vpid) {
            orte_errmgr.abort(7, "for %s", "a test");
        }
        orte_rml.recv_buffer(ORTE_PROC_MY_NAME, NULL, MY_TAG, 0);
        ORTE_PROGRESSED_WAIT(false, 0, 1);
    }
    return end();
}
