/* What a job does, for a tool: as it was packed, or nothing. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <wireup/look.h>
#include <wireup/proto.h>

static char text[1024];

static void add(const char *line)
{
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, "%s\n", line);
}

static void see_job(void *arg, const struct keel_job_state *job)
{
    char line[256];
    snprintf(line, sizeof(line), "job %u %s %s %s %u %llu %u", job->number, job->id, job->phase,
             job->program, job->pid, (unsigned long long) job->age_ms, job->rank_count);
    (void) arg;
    add(line);
}

static void see_node(void *arg, const struct keel_node_state *node)
{
    char line[256];
    snprintf(line, sizeof(line), "node %u %s %s %u", node->number, node->name, node->state,
             node->pid);
    (void) arg;
    add(line);
}

static void see_rank(void *arg, const struct keel_rank_state *rank)
{
    char line[256];
    snprintf(line, sizeof(line), "rank %u %u %u %s %llu %llu %llu %llu", rank->rank, rank->node,
             rank->pid, rank->state, (unsigned long long) rank->still_ms,
             (unsigned long long) rank->age_ms, (unsigned long long) rank->cpu_ms,
             (unsigned long long) rank->memory_bytes);
    (void) arg;
    add(line);
    for (size_t i = 0; i < rank->counter_count; i++) {
        snprintf(line, sizeof(line), "counter %s %llu", rank->counters[i].name,
                 (unsigned long long) rank->counters[i].value);
        add(line);
    }
}

static void see_line(void *arg, const char *line)
{
    (void) arg;
    add(line);
}

static const struct keel_look look = {see_job, see_node, see_rank, see_line};

static size_t cut; /* off the counters */

static opal_buffer_t *pack(void)
{
    const struct keel_job_state job = {1, "00ff", "running", "prog", 7, UINT64_C(1) << 40, 2};
    const struct keel_node_state node = {3, "nu3", "does not answer", 9};
    const struct keel_rank_state rank = {.rank = 1,
                                         .node = 3,
                                         .pid = 11,
                                         .state = "in fence 2",
                                         .still_ms = 5,
                                         .age_ms = 6,
                                         .cpu_ms = 7,
                                         .memory_bytes = UINT64_C(1) << 40};
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(look_pack_job(buffer, &job), ORTE_SUCCESS);
    ck_assert_int_eq(look_pack_node(buffer, &node), ORTE_SUCCESS);
    opal_buffer_t *counters = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(look_pack_counter(counters, "sent", 12), ORTE_SUCCESS);
    ck_assert_int_eq(look_pack_counter(counters, "came", UINT64_MAX), ORTE_SUCCESS);
    ck_assert_int_eq(look_pack_rank(buffer, &rank, counters->base_ptr, counters->bytes_used - cut),
                     ORTE_SUCCESS);
    OBJ_RELEASE(counters);
    ck_assert_int_eq(look_pack_line(buffer, "a stack"), ORTE_SUCCESS);
    return buffer;
}

START_TEST(test_what_is_packed_is_seen)
{
    opal_buffer_t *buffer = pack();
    text[0] = '\0';
    ck_assert_int_eq(look_pack_end(buffer), ORTE_SUCCESS);
    ck_assert_int_eq(look_unpack(buffer, &look, NULL), ORTE_SUCCESS);
    ck_assert_str_eq(text, "job 1 00ff running prog 7 1099511627776 2\n"
                           "node 3 nu3 does not answer 9\n"
                           "rank 1 3 11 in fence 2 5 6 7 1099511627776\n"
                           "counter sent 12\n"
                           "counter came 18446744073709551615\n"
                           "a stack\n");
    OBJ_RELEASE(buffer);
}
END_TEST

static void refuse(opal_buffer_t *buffer)
{
    text[0] = '\0';
    ck_assert_int_ne(look_unpack(buffer, &look, NULL), ORTE_SUCCESS);
    ck_assert_str_eq(text, "");
    OBJ_RELEASE(buffer);
}

START_TEST(test_nothing_is_seen_of_what_makes_no_sense)
{
    refuse(pack()); /* without an end */
    cut = 1;        /* a counter that is not whole */
    opal_buffer_t *halved = pack();
    cut = 0;
    ck_assert_int_eq(look_pack_end(halved), ORTE_SUCCESS);
    refuse(halved);
    opal_buffer_t *buffer = pack();
    ck_assert_int_eq(look_pack_end(buffer), ORTE_SUCCESS);
    ck_assert_int_eq(look_pack_end(buffer), ORTE_SUCCESS);
    refuse(buffer);
    buffer = pack();
    ck_assert_int_eq(proto_pack(buffer, "c", (uint8_t) 200), ORTE_SUCCESS); /* an unknown record */
    ck_assert_int_eq(look_pack_end(buffer), ORTE_SUCCESS);
    refuse(buffer);
}
END_TEST

START_TEST(test_noise_is_survived)
{
    srandom(1);
    for (int round = 0; round < 5000; round++) {
        opal_buffer_t *buffer = pack();
        ck_assert_int_eq(look_pack_end(buffer), ORTE_SUCCESS);
        buffer->base_ptr[(size_t) random() % buffer->bytes_used] = (char) random();
        text[0] = '\0';
        ck_assert(look_unpack(buffer, &look, NULL) == ORTE_SUCCESS || text[0] == '\0');
        OBJ_RELEASE(buffer);
    }
}
END_TEST

UNIT_MAIN("look")
