#include <config.h>

#include <launcher/pmi1/pmi1_wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

/* Reads a copy, so that a byte beyond the line is noticed by the sanitizer. */
static int read_line(struct pmi1_request *request, char **copy, const char *line, size_t size)
{
    *copy = malloc(size + 1);
    memcpy(*copy, line, size);
    return pmi1_request_read(request, *copy, size);
}

static int status_of(const char *line)
{
    struct pmi1_request request;
    char *copy;
    int status = read_line(&request, &copy, line, strlen(line));
    free(copy);
    return status;
}

static enum pmi1_command command_of(const char *line)
{
    struct pmi1_request request;
    char *copy;
    ck_assert_int_eq(read_line(&request, &copy, line, strlen(line)), ORTE_SUCCESS);
    free(copy);
    return request.command;
}

START_TEST(test_every_command_is_known)
{
    ck_assert_int_eq(command_of("cmd=init pmi_version=1 pmi_subversion=1"), PMI1_INIT);
    ck_assert_int_eq(command_of("cmd=get_maxes"), PMI1_GET_MAXES);
    ck_assert_int_eq(command_of("cmd=get_appnum"), PMI1_GET_APPNUM);
    ck_assert_int_eq(command_of("cmd=get_my_kvsname"), PMI1_GET_MY_KVSNAME);
    ck_assert_int_eq(command_of("cmd=get_universe_size"), PMI1_GET_UNIVERSE_SIZE);
    ck_assert_int_eq(command_of("cmd=put kvsname=a key=b value=c"), PMI1_PUT);
    ck_assert_int_eq(command_of("cmd=get kvsname=a key=b"), PMI1_GET);
    ck_assert_int_eq(command_of("cmd=barrier_in"), PMI1_BARRIER_IN);
    ck_assert_int_eq(command_of("cmd=finalize"), PMI1_FINALIZE);
    ck_assert_int_eq(command_of("cmd=abort exitcode=1"), PMI1_ABORT);
    ck_assert_int_eq(command_of("cmd=publish_name service=a port=b"), PMI1_PUBLISH_NAME);
    ck_assert_int_eq(command_of("cmd=lookup_name service=a"), PMI1_LOOKUP_NAME);
    ck_assert_int_eq(command_of("cmd=unpublish_name service=a"), PMI1_UNPUBLISH_NAME);
    ck_assert_int_eq(command_of("mcmd=spawn"), PMI1_SPAWN);
    ck_assert_int_eq(command_of("mcmd=init"), PMI1_UNKNOWN);
    ck_assert_int_eq(command_of("cmd=spawn"), PMI1_UNKNOWN);
    ck_assert_int_eq(command_of("cmd=unheard_of a=b"), PMI1_UNKNOWN);
    ck_assert_int_eq(command_of("cmd="), PMI1_UNKNOWN);
}
END_TEST

START_TEST(test_values_are_found)
{
    struct pmi1_request request;
    const char *line = "cmd=put  kvsname=k key=a-1 value=x=y=z empty= number=-17 big=99999999999 ";
    char *copy;
    int number = 0;
    ck_assert_int_eq(read_line(&request, &copy, line, strlen(line)), ORTE_SUCCESS);
    ck_assert_uint_eq(request.count, 6);
    ck_assert_str_eq(pmi1_request_value(&request, "kvsname"), "k");
    ck_assert_str_eq(pmi1_request_value(&request, "value"), "x=y=z");
    ck_assert_str_eq(pmi1_request_value(&request, "empty"), "");
    ck_assert_ptr_null(pmi1_request_value(&request, "cmd"));
    ck_assert_ptr_null(pmi1_request_value(&request, "kvs"));
    ck_assert(pmi1_request_number(&request, "number", &number));
    ck_assert_int_eq(number, -17);
    ck_assert(!pmi1_request_number(&request, "big", &number));
    ck_assert(!pmi1_request_number(&request, "empty", &number));
    ck_assert(!pmi1_request_number(&request, "key", &number));
    ck_assert(!pmi1_request_number(&request, "missing", &number));
    ck_assert_int_eq(number, -17);
    free(copy);
}
END_TEST

START_TEST(test_what_is_no_request_is_refused)
{
    static const char *const bad[] = {"",          " ",          "cmd",        "init",
                                      "command=x", "=init",      "cmd=x y",    "cmd=x =y",
                                      "x=1 cmd=y", "GET / HTTP", "cmd=x a b=c"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_msg(status_of(bad[i]) == ORTE_ERR_BAD_PARAM, "'%s' is taken", bad[i]);
    }
    struct pmi1_request request;
    char *copy;
    ck_assert_int_eq(read_line(&request, &copy, "cmd=get\0key=a", 13), ORTE_ERR_BAD_PARAM);
    free(copy);
}
END_TEST

START_TEST(test_limits_hold)
{
    char line[PMI1_LINE_MAX + 8];
    snprintf(line, sizeof(line), "cmd=x a=%0*d", PMI1_LINE_MAX - 9, 0); /* 1023 and a newline */
    ck_assert_uint_eq(strlen(line), PMI1_LINE_MAX - 1);
    ck_assert_int_eq(status_of(line), ORTE_SUCCESS);
    strcat(line, "0");
    ck_assert_int_eq(status_of(line), ORTE_ERR_BAD_PARAM);
    snprintf(line, sizeof(line), "cmd=x %0*d=1", PMI1_NAME_MAX, 0);
    ck_assert_int_eq(status_of(line), ORTE_SUCCESS);
    snprintf(line, sizeof(line), "cmd=x %0*d=1", PMI1_NAME_MAX + 1, 0);
    ck_assert_int_eq(status_of(line), ORTE_ERR_BAD_PARAM);
    strcpy(line, "cmd=x");
    for (int i = 0; i < PMI1_PAIRS_MAX; i++) {
        strcat(line, " a=b");
    }
    ck_assert_int_eq(status_of(line), ORTE_SUCCESS);
    strcat(line, " a=b");
    ck_assert_int_eq(status_of(line), ORTE_ERR_BAD_PARAM);
}
END_TEST

/* Lines of pieces that a request is made of, and of anything. */
START_TEST(test_random_lines_do_no_harm)
{
    static const char *const pieces[] = {"cmd=", "mcmd=", "put", "=", " ", "key=", "a", "  ", "\t"};
    unsigned taken = 0;
    srandom(7);
    for (int round = 0; round < 100000; round++) {
        char line[PMI1_LINE_MAX + 64];
        size_t size = 0, end = (size_t) (random() % 40);
        if (round % 100 == 0) {
            end = (size_t) random() % (PMI1_LINE_MAX + 8);
        }
        while (size < end) {
            const char *piece = pieces[(size_t) random() % (sizeof(pieces) / sizeof(*pieces))];
            if (random() % 8 == 0) {
                line[size++] = (char) random();
            } else {
                memcpy(line + size, piece, strlen(piece));
                size += strlen(piece);
            }
        }
        struct pmi1_request request;
        char *copy;
        if (read_line(&request, &copy, line, size) == ORTE_SUCCESS) {
            taken++;
            ck_assert_uint_le(request.count, PMI1_PAIRS_MAX);
            for (size_t i = 0; i < request.count; i++) {
                ck_assert(strlen(request.pairs[i].name) <= PMI1_NAME_MAX);
                ck_assert_ptr_nonnull(pmi1_request_value(&request, request.pairs[i].name));
            }
        }
        free(copy);
    }
    ck_assert_uint_gt(taken, 100);
}
END_TEST

static void check_mapping(const char *expected, const uint32_t *node_of, uint32_t ranks)
{
    char text[256];
    pmi1_mapping(text, sizeof(text), node_of, ranks);
    ck_assert_str_eq(text, expected);
}

START_TEST(test_mappings)
{
    const uint32_t one[] = {0, 0, 0, 0}, uneven[] = {0, 0, 0, 1, 1}, even[] = {0, 0, 1, 1, 2, 2},
                   wraps[] = {0, 0, 1, 1, 0, 1}, apart[] = {0, 2, 1}, by_node[] = {0, 1, 0, 1, 0},
                   late[] = {4, 2, 2, 4, 2, 2}, ends[] = {0, 1, 2, 0, 1, 0, 0};
    check_mapping("(vector,(0,1,4))", one, 4);
    check_mapping("(vector,(0,1,1))", one, 1);
    check_mapping("(vector,(0,1,3),(1,1,2))", uneven, 5);
    check_mapping("(vector,(0,3,2))", even, 6);
    check_mapping("(vector,(0,2,2),(0,2,1))", wraps, 6);
    check_mapping("(vector,(0,3,1))", apart, 3);
    check_mapping("(vector,(0,2,1))", by_node, 5);
    check_mapping("(vector,(0,1,1),(1,1,2))", late, 6);
    check_mapping("(vector,(0,3,1),(0,2,1),(0,1,2))", ends, 7);
}
END_TEST

/* As MPICH reads it: ranks that are left begin again at the first block. */
static void read_mapping(const char *text, uint32_t *node_of, uint32_t ranks)
{
    const char *first = strchr(text, ',') + 1, *block = first;
    for (uint32_t rank = 0; rank < ranks;) {
        unsigned node, nodes, each;
        int length = 0;
        ck_assert_int_eq(sscanf(block, "(%u,%u,%u)%n", &node, &nodes, &each, &length), 3);
        for (unsigned i = 0; i < nodes * each && rank < ranks; i++) {
            node_of[rank++] = node + i / each;
        }
        block = block[length] == ',' ? block + length + 1 : first;
    }
}

/* Reads what was written, and compares who shares a node with whom. */
static void check_same(const uint32_t *node_of, uint32_t ranks)
{
    static char text[1 << 16];
    uint32_t read[512], first_on[64], names[64];
    pmi1_mapping(text, sizeof(text), node_of, ranks);
    read_mapping(text, read, ranks);
    memset(first_on, 0xff, sizeof(first_on));
    memset(names, 0xff, sizeof(names));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t *known = &first_on[node_of[rank]], *named = &names[read[rank]];
        *known = *known == UINT32_MAX ? read[rank] : *known;
        *named = *named == UINT32_MAX ? node_of[rank] : *named;
        ck_assert_uint_eq(*known, read[rank]);
        ck_assert_uint_eq(*named, node_of[rank]);
    }
}

static uint32_t below(uint32_t limit)
{
    return (uint32_t) random() % limit;
}

START_TEST(test_mappings_are_read_as_they_were)
{
    uint32_t node_of[512];
    srandom(7);
    for (int i = 0; i < 20000; i++) {
        uint32_t ranks = 1 + below(60), period = 1 + below(ranks);
        uint32_t nodes = 1 + below(6);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            node_of[rank] = rank < period ? below(nodes) : node_of[rank - period];
        }
        check_same(node_of, ranks);
    }
}
END_TEST

/* Round after round, each node as long as it has slots. */
static uint32_t place_by_node(uint32_t *node_of, const uint32_t *slots, uint32_t nodes)
{
    uint32_t ranks = 0;
    for (uint32_t round = 0; round < 128; round++) {
        for (uint32_t node = 0; node < nodes; node++) {
            if (round < slots[node]) {
                node_of[ranks++] = node;
            }
        }
    }
    return ranks;
}

START_TEST(test_many_ranks_by_node_fit)
{
    const uint32_t even[] = {128, 128, 128}, uneven[] = {128, 60}, last[] = {128, 128, 127};
    uint32_t node_of[512];
    char text[256];
    uint32_t ranks = place_by_node(node_of, even, 3);
    pmi1_mapping(text, sizeof(text), node_of, ranks);
    ck_assert_str_eq(text, "(vector,(0,3,1))");
    pmi1_mapping(text, sizeof(text), node_of, ranks - 1); /* the last round is not full */
    ck_assert_str_eq(text, "(vector,(0,3,1))");
    check_same(node_of, ranks - 1);
    check_same(node_of, place_by_node(node_of, uneven, 2));
    ranks = place_by_node(node_of, last, 3);
    check_same(node_of, ranks);
    pmi1_mapping(text, sizeof(text), node_of, ranks);
    ck_assert_str_eq(text, "(vector,(0,3,1))");
}
END_TEST

START_TEST(test_a_mapping_that_does_not_fit_is_unknown)
{
    const uint32_t uneven[] = {2, 128, 128}, three[] = {0, 2, 1, 0, 1};
    uint32_t node_of[512];
    char text[64];
    pmi1_mapping(text, sizeof(text), node_of, place_by_node(node_of, uneven, 3));
    ck_assert_str_eq(text, "");
    for (size_t size = 8; size < sizeof(text); size++) { /* whole or not at all */
        pmi1_mapping(text, size, three, 5);
        ck_assert(strlen(text) < size);
        ck_assert(text[0] == '\0' || strcmp(text, "(vector,(0,3,1),(0,1,1),(2,1,1))") == 0);
    }
}
END_TEST

UNIT_MAIN("pmi1_wire")
