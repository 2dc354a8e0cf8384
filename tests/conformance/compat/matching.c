/* Who gets what: wildcards in either part of a name, tags, order, peeking, truncation, cancelling,
 * persistent receives. */
#include "old.h"

enum { A = MY_TAG, B, C, GO, LINES = 50 };

static int got; /* by callbacks */

static void send_number(orte_process_name_t *peer, int number, int tag)
{
    struct iovec msg;
    msg.iov_base = &number;
    msg.iov_len = sizeof(number);
    CHECK((int) sizeof(number) == orte_rml.send(peer, &msg, 1, tag, 0));
}

static int receive_number(orte_process_name_t *peer, orte_rml_tag_t tag, int flags)
{
    int number = -1;
    struct iovec msg;
    msg.iov_base = &number;
    msg.iov_len = sizeof(number);
    CHECK((int) sizeof(number) == orte_rml.recv(peer, &msg, 1, tag, flags));
    return number;
}

/* Tells the left neighbour that I have got so far, and waits for the right one to say so. */
static void ready(orte_process_name_t *left, orte_process_name_t *right)
{
    send_number(left, 0, GO);
    CHECK(0 == receive_number(right, GO, 0));
}

/* Tags apart, order within each: taken back to front by tag. */
static void tags_and_order(orte_process_name_t *left, orte_process_name_t *right)
{
    orte_process_name_t any_job, any_rank;
    int i;

    any_job.jobid = ORTE_JOBID_WILDCARD;
    any_job.vpid = left->vpid;
    any_rank.jobid = left->jobid;
    any_rank.vpid = ORTE_VPID_WILDCARD;
    for (i = 0; i < LINES; i++) {
        send_number(right, i, A);
        send_number(right, 100 + i, B);
        send_number(right, 200 + i, C);
    }
    for (i = 0; i < LINES; i++) {
        CHECK(200 + i == receive_number(ORTE_NAME_WILDCARD, C, 0));
    }
    for (i = 0; i < LINES; i++) {
        CHECK(100 + i == receive_number(&any_job, B, 0));
    }
    for (i = 0; i < LINES; i++) {
        CHECK(i == receive_number(i % 2 ? &any_rank : left, A, ORTE_RML_PEEK));
        CHECK(i == receive_number(i % 2 ? left : &any_rank, A, 0));
    }
}

static void sizes(orte_process_name_t *left, orte_process_name_t *right)
{
    char text[] = "0123456789", first[4] = "", rest[100] = "";
    struct iovec out[2], in[2];

    out[0].iov_base = text;
    out[0].iov_len = 6;
    out[1].iov_base = text + 6;
    out[1].iov_len = 4;
    CHECK(10 == orte_rml.send(right, out, 2, A, 0));
    CHECK(10 == orte_rml.send(right, out, 2, A, 0));
    CHECK(0 == orte_rml.send(right, out, 0, A, 0));

    in[0].iov_base = first;
    in[0].iov_len = 3;
    in[1].iov_base = rest;
    in[1].iov_len = sizeof(rest);
    CHECK(3 == orte_rml.recv(left, in, 1, A, ORTE_RML_PEEK));
    CHECK(10 == orte_rml.recv(left, in, 1, A, ORTE_RML_TRUNC));
    CHECK(strcmp(first, "012") == 0);
    CHECK(10 == orte_rml.recv(left, in, 2, A, 0));
    CHECK(strcmp(rest, "3456789") == 0);
    CHECK(0 == orte_rml.recv(left, in, 2, A, 0));
}

static void count_buffer(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                         orte_rml_tag_t tag, void *cbdata)
{
    int32_t number = -1, one = 1;
    (void) tag;
    CHECK(ORTE_SUCCESS == status);
    CHECK(peer->vpid == *(orte_vpid_t *) cbdata);
    CHECK(OPAL_SUCCESS == opal_dss.unpack(buffer, &number, &one, OPAL_INT32));
    CHECK(number == got);
    got++;
}

static void persistent(orte_process_name_t *left, orte_process_name_t *right)
{
    opal_buffer_t *buffer;
    int32_t i;

    got = 0;
    for (i = 0; i < LINES; i++) {
        if (LINES / 2 == i) { /* half of them wait already, perhaps */
            CHECK(ORTE_SUCCESS ==
                  orte_rml.recv_buffer_nb(left, A, ORTE_RML_PERSISTENT, count_buffer, &left->vpid));
        }
        buffer = OBJ_NEW(opal_buffer_t);
        CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &i, 1, OPAL_INT32));
        CHECK(0 < orte_rml.send_buffer(right, buffer, A, 0));
        OBJ_RELEASE(buffer);
    }
    ORTE_PROGRESSED_WAIT(false, got, LINES);
    CHECK(ORTE_SUCCESS == orte_rml.recv_cancel(left, A));
    CHECK(ORTE_ERR_NOT_FOUND == orte_rml.recv_cancel(left, A));
    ready(left, right);
    send_number(right, 77, A);
    CHECK(77 == receive_number(left, A, 0));
    CHECK(LINES == got);
}

static void take_number(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                        orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    CHECK((int) sizeof(int) == status);
    CHECK(1 == count && B == tag);
    CHECK(*(int *) msg[0].iov_base == *(int *) cbdata);
    got++;
}

/* The oldest receive that fits gets a message, whether it names the peer or not. */
static void posted_in_order(orte_process_name_t *left, orte_process_name_t *right)
{
    int first = -1, second = -1, one = 1, two = 2;
    struct iovec msg[2];

    got = 0;
    msg[0].iov_base = &first;
    msg[1].iov_base = &second;
    msg[0].iov_len = msg[1].iov_len = sizeof(int);
    CHECK(ORTE_SUCCESS ==
          orte_rml.recv_nb(ORTE_NAME_WILDCARD, &msg[0], 1, B, 0, take_number, &one));
    CHECK(ORTE_SUCCESS == orte_rml.recv_nb(left, &msg[1], 1, B, 0, take_number, &two));
    ready(left, right);
    send_number(right, 1, B);
    send_number(right, 2, B);
    ORTE_PROGRESSED_WAIT(false, got, 2);
    CHECK(1 == first && 2 == second);
}

/* The arrays are given back right after the calls; the callbacks free the data. */
static void free_data(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                      orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) tag;
    (void) cbdata;
    CHECK((int) sizeof(int) == status && 1 == count);
    free(msg[0].iov_base);
    got++;
}

static struct iovec *new_array(int number)
{
    struct iovec *msg = (struct iovec *) malloc(sizeof(*msg));
    msg->iov_base = malloc(sizeof(number));
    msg->iov_len = sizeof(number);
    memcpy(msg->iov_base, &number, sizeof(number));
    return msg;
}

static void arrays(orte_process_name_t *left, orte_process_name_t *right)
{
    struct iovec *out = new_array(7), *in = new_array(0);

    got = 0;
    CHECK(ORTE_SUCCESS == orte_rml.recv_nb(left, in, 1, C, 0, free_data, NULL));
    CHECK(ORTE_SUCCESS == orte_rml.send_nb(right, out, 1, C, 0, free_data, NULL));
    free(out);
    free(in);
    ORTE_PROGRESSED_WAIT(false, got, 2);
    CHECK(0 == orte_rml.send(right, NULL, 0, C, 0));
    CHECK(0 == orte_rml.recv(left, NULL, 0, C, 0));
}

int main(int argc, char **argv)
{
    orte_process_name_t left, right;

    begin(&argc, &argv);
    left_of(&left);
    right_of(&right);
    tags_and_order(&left, &right);
    sizes(&left, &right);
    persistent(&left, &right);
    posted_in_order(&left, &right);
    arrays(&left, &right);
    return end();
}
