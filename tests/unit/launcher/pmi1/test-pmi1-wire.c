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
                   wraps[] = {0, 0, 1, 1, 0, 1}, apart[] = {0, 2, 1};
    check_mapping("(vector,(0,1,4))", one, 4);
    check_mapping("(vector,(0,1,1))", one, 1);
    check_mapping("(vector,(0,1,3),(1,1,2))", uneven, 5);
    check_mapping("(vector,(0,3,2))", even, 6);
    check_mapping("(vector,(0,2,2),(0,2,1))", wraps, 6);
    check_mapping("(vector,(0,1,1),(2,1,1),(1,1,1))", apart, 3);
}
END_TEST

START_TEST(test_a_mapping_that_does_not_fit_is_unknown)
{
    uint32_t node_of[200];
    char text[64];
    for (uint32_t i = 0; i < 200; i++) {
        node_of[i] = i % 2 * 5;
    }
    pmi1_mapping(text, sizeof(text), node_of, 200);
    ck_assert_str_eq(text, "");
    for (size_t size = 8; size < sizeof(text); size++) { /* whole or not at all */
        pmi1_mapping(text, size, node_of, 3);
        ck_assert(strlen(text) < size);
        ck_assert(text[0] == '\0' || strcmp(text, "(vector,(0,1,1),(5,1,1),(0,1,1))") == 0);
    }
}
END_TEST

UNIT_MAIN("pmi1_wire", test_every_command_is_known, test_values_are_found,
          test_what_is_no_request_is_refused, test_limits_hold, test_random_lines_do_no_harm,
          test_mappings, test_a_mapping_that_does_not_fit_is_unknown)
