/* How the cells are filled: the first rule that fits one fills it. */
#include <stdio.h>
#include <tests/conformance/rml/cells.h>

const char *const fn_names[FNS] = {
    "enable_comm",
    "finalize",
    "get_contact_info",
    "set_contact_info",
    "get_new_name",
    "ping",
    "send",
    "send_nb",
    "send_buffer",
    "send_buffer_nb",
    "recv",
    "recv_nb",
    "recv_buffer",
    "recv_buffer_nb",
    "recv_cancel",
    "add_exception_handler",
    "del_exception_handler",
    "ft_event",
};

const char *const flag_names[FLAGS] = {
    "-",
    "PEEK",
    "TRUNC",
    "ALLOC",
    "PERSISTENT",
    "RECURSIVE",
    "DELIVERED",
    "PEEK|TRUNC",
    "PEEK|ALLOC",
    "TRUNC|ALLOC",
    "ALLOC|PERSISTENT",
    "PERSISTENT|RECURSIVE",
};

const int flag_values[FLAGS] = {
    [PEEK] = ORTE_RML_PEEK,
    [TRUNC] = ORTE_RML_TRUNC,
    [ALLOC] = ORTE_RML_ALLOC,
    [PERSISTENT] = ORTE_RML_PERSISTENT,
    [RECURSIVE] = ORTE_RML_FLAG_RECURSIVE_CALLBACK,
    [DELIVERED] = KEEL_RML_DELIVERED,
    [PEEK_TRUNC] = ORTE_RML_PEEK | ORTE_RML_TRUNC,
    [PEEK_ALLOC] = ORTE_RML_PEEK | ORTE_RML_ALLOC,
    [TRUNC_ALLOC] = ORTE_RML_TRUNC | ORTE_RML_ALLOC,
    [ALLOC_PERSISTENT] = ORTE_RML_ALLOC | ORTE_RML_PERSISTENT,
    [PERSISTENT_RECURSIVE] = ORTE_RML_PERSISTENT | ORTE_RML_FLAG_RECURSIVE_CALLBACK,
};

const char *const outcome_names[OUTCOMES] = {
    "SUCCESS",      "BAD_PARAM",          "ADDRESSEE_UNKNOWN", "UNREACH",
    "COMM_FAILURE", "before enable_comm", "after finalize",    "NOT_FOUND",
    "TIMEOUT",      "NOT_SUPPORTED",      "OUT_OF_RESOURCE",
};

#define ONE(n) (1u << (n))
#define ANY UINT32_MAX

enum {
    HANDLERS = ONE(ADD_EXCEPTION_HANDLER) | ONE(DEL_EXCEPTION_HANDLER),
    SENDS = ONE(SEND) | ONE(SEND_NB) | ONE(SEND_BUFFER) | ONE(SEND_BUFFER_NB),
    RECEIVES = ONE(RECV) | ONE(RECV_NB) | ONE(RECV_BUFFER) | ONE(RECV_BUFFER_NB),
    BLOCKING = ONE(SEND) | ONE(SEND_BUFFER) | ONE(RECV) | ONE(RECV_BUFFER),
    POSTS = ONE(RECV_NB) | ONE(RECV_BUFFER_NB),
    CONTACTS = ONE(GET_CONTACT_INFO) | ONE(SET_CONTACT_INFO),
};

struct rule {
    uint32_t fns, flags, outcomes; /* sets */
    struct filling filling;
};

static const struct rule rules[] = {
    /* sends and receives are the functions that take flags */
    {(uint32_t) ~(SENDS | RECEIVES),
     (uint32_t) ~ONE(NO_FLAG),
     ANY,
     {NEVER, NULL, "takes no flags"}},

    /* success */
    {SENDS, ANY, ONE(SUCCESS), {IN_JOB, send_succeeds, NULL}},
    {RECEIVES, ANY, ONE(SUCCESS), {IN_JOB, receive_succeeds, NULL}},
    {ONE(ENABLE_COMM), ANY, ONE(SUCCESS), {IN_JOB, enabling_again, NULL}},
    {ONE(FINALIZE), ANY, ONE(SUCCESS), {IN_JOB, finalizing, NULL}},
    {ONE(GET_CONTACT_INFO), ANY, ONE(SUCCESS), {IN_JOB, contact_is_told, NULL}},
    {ONE(SET_CONTACT_INFO), ANY, ONE(SUCCESS), {IN_JOB, contact_is_recorded, NULL}},
    {ONE(RECV_CANCEL), ANY, ONE(SUCCESS), {IN_JOB, cancelling, NULL}},
    {ONE(ADD_EXCEPTION_HANDLER), ANY, ONE(SUCCESS), {IN_JOB, handlers_are_called, NULL}},
    {ONE(DEL_EXCEPTION_HANDLER), ANY, ONE(SUCCESS), {IN_JOB, handlers_are_removed, NULL}},
    {ONE(FT_EVENT), ANY, ONE(SUCCESS), {IN_JOB, checkpoints_and_restarts, NULL}},
    {ONE(GET_NEW_NAME), ANY, ONE(SUCCESS), {IN_TOOL, NULL, NULL}},
    {ONE(PING), ANY, ONE(SUCCESS), {IN_JOB, somebody_answers, NULL}},

    /* wrong arguments */
    {SENDS | RECEIVES | ONE(RECV_CANCEL) | ONE(SET_CONTACT_INFO),
     ANY,
     ONE(BAD_PARAM),
     {IN_JOB, wrong_arguments, NULL}},
    {ONE(FT_EVENT), ANY, ONE(BAD_PARAM), {IN_JOB, no_such_state, NULL}},
    {ONE(GET_NEW_NAME), ANY, ONE(BAD_PARAM), {IN_JOB, nowhere_for_a_name, NULL}},
    {ONE(PING), ANY, ONE(BAD_PARAM), {IN_JOB, wrong_pings, NULL}},
    {HANDLERS, ANY, ONE(BAD_PARAM), {IN_JOB, no_handler, NULL}},
    {ANY, ANY, ONE(BAD_PARAM), {NEVER, NULL, "takes no arguments"}},

    /* nobody there */
    {SENDS, ANY, ONE(ADDRESSEE_UNKNOWN), {IN_JOB, nobody_of_that_name, NULL}},
    {SENDS, ANY, ONE(UNREACH), {IN_JOB, nobody_at_that_address, NULL}},
    {ONE(PING), ANY, ONE(UNREACH), {IN_JOB, nobody_answers, NULL}},
    {ONE(GET_NEW_NAME), ANY, ONE(UNREACH) | ONE(TIMEOUT), {IN_TOOL, NULL, NULL}},
    {ONE(PING) | ONE(GET_NEW_NAME),
     ANY,
     ONE(ADDRESSEE_UNKNOWN) | ONE(COMM_FAILURE),
     {NEVER, NULL, "is UNREACH"}},
    {ONE(PING), ANY, ONE(TIMEOUT), {IN_JOB, nobody_answers_in_time, NULL}},
    {ANY, ANY, ONE(TIMEOUT), {NEVER, NULL, "has no time limit"}},
    {ANY, ANY, ONE(ADDRESSEE_UNKNOWN) | ONE(UNREACH), {NEVER, NULL, "sends nothing"}},
    {SENDS | RECEIVES | ONE(FT_EVENT), ANY, ONE(COMM_FAILURE), {IN_CLUSTER, NULL, NULL}},
    {ANY, ANY, ONE(COMM_FAILURE), {NEVER, NULL, "waits for nobody"}},

    /* the states */
    {ONE(ENABLE_COMM) | ONE(FINALIZE),
     ANY,
     ONE(BEFORE_ENABLE),
     {NEVER, NULL, "is what changes the state"}},
    {POSTS | ONE(RECV_CANCEL) | ONE(SET_CONTACT_INFO),
     ANY,
     ONE(BEFORE_ENABLE),
     {IN_JOB, works_before, NULL}},
    {HANDLERS, ANY, ONE(BEFORE_ENABLE), {IN_JOB, handlers_before, NULL}},
    {ONE(FT_EVENT), ANY, ONE(BEFORE_ENABLE) | ONE(AFTER_FINALIZE), {IN_JOB, no_state_now, NULL}},
    {ONE(GET_NEW_NAME), ANY, ONE(BEFORE_ENABLE), {IN_TOOL, NULL, NULL}},
    {ONE(PING), ANY, ONE(BEFORE_ENABLE), {IN_JOB, pings_before, NULL}},
    {ANY, ANY, ONE(BEFORE_ENABLE), {IN_JOB, refused_before, NULL}},
    {HANDLERS, ANY, ONE(AFTER_FINALIZE), {IN_JOB, handlers_after, NULL}},
    {ONE(GET_NEW_NAME), ANY, ONE(AFTER_FINALIZE), {IN_JOB, no_name_after, NULL}},
    {ONE(PING), ANY, ONE(AFTER_FINALIZE), {IN_JOB, pings_after, NULL}},
    {ANY, ANY, ONE(AFTER_FINALIZE), {IN_JOB, refused_after, NULL}},

    /* the rest */
    {ONE(RECV_CANCEL), ANY, ONE(NOT_FOUND), {IN_JOB, nothing_to_cancel, NULL}},
    {ONE(DEL_EXCEPTION_HANDLER), ANY, ONE(NOT_FOUND), {IN_JOB, no_such_handler, NULL}},
    {ANY, ANY, ONE(NOT_FOUND), {NEVER, NULL, "looks for nothing"}},
    {BLOCKING | ONE(PING) | ONE(FT_EVENT), ANY, ONE(NOT_SUPPORTED), {IN_CLUSTER, NULL, NULL}},
    {ONE(GET_NEW_NAME), ANY, ONE(NOT_SUPPORTED), {IN_JOB, has_a_name, NULL}},
    {ANY, ANY, ONE(NOT_SUPPORTED), {NEVER, NULL, "is served, and does not block"}},
    {ONE(FT_EVENT), ANY, ONE(OUT_OF_RESOURCE), {IN_JOB, restart_without_memory, NULL}},
    {ONE(GET_NEW_NAME), ANY, ONE(OUT_OF_RESOURCE), {IN_TOOL, NULL, NULL}},
    {SENDS | RECEIVES | CONTACTS | ONE(PING) | ONE(ADD_EXCEPTION_HANDLER),
     ANY,
     ONE(OUT_OF_RESOURCE),
     {IN_JOB, without_memory, NULL}},
    {ANY, ANY, ONE(OUT_OF_RESOURCE), {NEVER, NULL, "allocates nothing"}},
};

enum { RULES = sizeof(rules) / sizeof(*rules) };

static int rule_of(const struct cell *cell)
{
    for (int i = 0; i < RULES; i++) {
        if (rules[i].fns & ONE(cell->fn) && rules[i].flags & ONE(cell->flag) &&
            rules[i].outcomes & ONE(cell->outcome)) {
            return i;
        }
    }
    return RULES;
}

struct filling filling_of(const struct cell *cell)
{
    int rule = rule_of(cell);
    return rule < RULES ? rules[rule].filling : (struct filling){.how = EMPTY};
}

int each_cell(enum how how, enum outcome outcome, void (*visit)(const struct cell *cell))
{
    int count = 0;
    for (struct cell cell = {.outcome = outcome}; cell.fn < FNS; cell.fn++) {
        for (cell.flag = NO_FLAG; cell.flag < FLAGS; cell.flag++) {
            if (filling_of(&cell).how == how) {
                visit(&cell);
                count++;
            }
        }
    }
    return count;
}

static int empty_cells;
static bool used[RULES + 1];

static void note_empty(const struct cell *cell)
{
    fprintf(stderr, "nothing fills the cell %s, %s, %s\n", fn_names[cell->fn],
            flag_names[cell->flag], outcome_names[cell->outcome]);
    empty_cells++;
}

static void note_use(const struct cell *cell)
{
    used[rule_of(cell)] = true;
}

int table_faults(void)
{
    for (enum outcome outcome = SUCCESS; outcome < OUTCOMES; outcome++) {
        for (enum how how = EMPTY; how <= NEVER; how++) {
            each_cell(how, outcome, how == EMPTY ? note_empty : note_use);
        }
    }
    int faults = empty_cells;
    for (int i = 0; i < RULES; i++) {
        if (!used[i]) {
            fprintf(stderr, "rule %d fills no cell\n", i);
            faults++;
        }
    }
    return faults;
}

static const char *mark_of(const struct cell *cell)
{
    static const char *const marks[] = {[EMPTY] = "EMPTY",
                                        [IN_JOB] = "job",
                                        [IN_CLUSTER] = "cluster",
                                        [IN_TOOL] = "tool",
                                        [NEVER] = "never"};
    struct filling filling = filling_of(cell);
    return filling.how == NEVER ? filling.text : marks[filling.how];
}

void table_print(void)
{
    for (struct cell cell = {0}; cell.fn < FNS; cell.fn++) {
        for (cell.flag = NO_FLAG; cell.flag < FLAGS; cell.flag++) {
            for (cell.outcome = SUCCESS; cell.outcome < OUTCOMES; cell.outcome++) {
                printf("%s\t%s\t%s\t%s\n", fn_names[cell.fn], flag_names[cell.flag],
                       outcome_names[cell.outcome], mark_of(&cell));
            }
        }
    }
}
