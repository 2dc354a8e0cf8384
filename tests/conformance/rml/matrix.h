/* The conformance matrix of orte_rml: function x flags x outcome. table.c says how each cell is
 * filled; a cell that nothing fills fails the test. It uses the public interface alone. */
#ifndef TESTS_CONFORMANCE_RML_MATRIX_H
#define TESTS_CONFORMANCE_RML_MATRIX_H

#include <keel/rml.h>

/* In the order of the interface. */
enum fn {
    ENABLE_COMM,
    FINALIZE,
    GET_CONTACT_INFO,
    SET_CONTACT_INFO,
    GET_NEW_NAME,
    PING,
    SEND,
    SEND_NB,
    SEND_BUFFER,
    SEND_BUFFER_NB,
    RECV,
    RECV_NB,
    RECV_BUFFER,
    RECV_BUFFER_NB,
    RECV_CANCEL,
    ADD_EXCEPTION_HANDLER,
    DEL_EXCEPTION_HANDLER,
    FT_EVENT,
    FNS
};

enum flag {
    NO_FLAG,
    PEEK,
    TRUNC,
    ALLOC,
    PERSISTENT,
    RECURSIVE,
    DELIVERED,
    PEEK_TRUNC,
    PEEK_ALLOC,
    TRUNC_ALLOC,
    ALLOC_PERSISTENT,
    PERSISTENT_RECURSIVE,
    FLAGS
};

enum outcome {
    SUCCESS,
    BAD_PARAM,
    ADDRESSEE_UNKNOWN,
    UNREACH,
    COMM_FAILURE,
    BEFORE_ENABLE,  /* ORTE_ERR_COMM_DISABLED, or what is allowed before enable_comm */
    AFTER_FINALIZE, /* ORTE_ERR_COMM_DISABLED */
    NOT_FOUND,
    TIMEOUT,
    NOT_SUPPORTED, /* a blocking call in a daemon */
    OUT_OF_RESOURCE,
    OUTCOMES
};

extern const char *const fn_names[FNS], *const flag_names[FLAGS], *const outcome_names[OUTCOMES];
extern const int flag_values[FLAGS];

struct cell {
    enum fn fn;
    enum flag flag;
    enum outcome outcome;
};

enum how {
    EMPTY,
    IN_JOB,     /* run does it, in the ranks of a job */
    IN_CLUSTER, /* failures.c does it, with daemons and ranks in one process */
    IN_TOOL,    /* visit.c does it, as a process that keelrun did not start */
    NEVER,      /* cannot be: text says why */
};

struct filling {
    enum how how;
    void (*run)(const struct cell *cell);
    const char *text;
};

/* What fills a cell. */
struct filling filling_of(const struct cell *cell);
/* Every cell, in the order of the enums; returns the number of those that visit was called for. */
int each_cell(enum how how, enum outcome outcome, void (*visit)(const struct cell *cell));
/* Names what is empty, and the rules that fill nothing, on standard error; their number. */
int table_faults(void);
/* The whole matrix as text. */
void table_print(void);

static inline bool is_send(enum fn fn)
{
    return fn >= SEND && fn <= SEND_BUFFER_NB;
}

static inline bool is_receive(enum fn fn)
{
    return fn >= RECV && fn <= RECV_BUFFER_NB;
}

static inline bool is_nonblocking(enum fn fn)
{
    return fn == SEND_NB || fn == SEND_BUFFER_NB || fn == RECV_NB || fn == RECV_BUFFER_NB;
}

static inline bool is_of_buffers(enum fn fn)
{
    return fn == SEND_BUFFER || fn == SEND_BUFFER_NB || fn == RECV_BUFFER || fn == RECV_BUFFER_NB;
}

/* --- running: the program's own (job.c, cluster.c) --- */

/* The cell under test, for messages. */
extern const struct cell *current;
/* Ends the test when the condition does not hold. */
void must_hold(bool holds, const char *condition, const char *file, int line);
#define must(condition) must_hold((condition), #condition, __FILE__, __LINE__)
/* Every rank has come so far. */
void all_together(void);
/* Runs callbacks until *done; fails the test when that takes too long. */
void wait_until(const bool *done);
/* Runs the callbacks that are due, some times over: for what must not come. */
void wait_idly(void);
extern orte_process_name_t me, left, right; /* neighbours in the ring of ranks */
extern uint32_t ranks;

#endif
