/* PMI-1's wire: lines of text, "cmd=x key=value key=value". Pure functions; docs/mpi.md lists the
 * commands. A request is hostile until it has been read. */
#ifndef LAUNCHER_PMI1_PMI1_WIRE_H
#define LAUNCHER_PMI1_PMI1_WIRE_H

#include <keel/types.h>

enum {
    PMI1_LINE_MAX = 1024, /* bytes of a line, its newline included */
    PMI1_PAIRS_MAX = 64,
    PMI1_NAME_MAX = 31, /* characters of a name in a pair */
    /* what get_maxes answers: 30 characters more than these is what a client fits into a line; it
     * lowers the last to 674, and halves of an odd one would not fit together again */
    PMI1_KVSNAME_MAX = 256,
    PMI1_KEY_MAX = 64,
    PMI1_VALUE_MAX = 1024,
};

/* The commands of a client; PMI1_UNKNOWN is a well-formed line with another one. */
enum pmi1_command {
    PMI1_UNKNOWN,
    PMI1_INIT,
    PMI1_GET_MAXES,
    PMI1_GET_APPNUM,
    PMI1_GET_MY_KVSNAME,
    PMI1_GET_UNIVERSE_SIZE,
    PMI1_PUT,
    PMI1_GET,
    PMI1_BARRIER_IN,
    PMI1_FINALIZE,
    PMI1_ABORT,
    PMI1_PUBLISH_NAME,
    PMI1_LOOKUP_NAME,
    PMI1_UNPUBLISH_NAME,
    PMI1_SPAWN, /* mcmd=spawn: more lines follow, up to "endcmd" */
};

struct pmi1_request {
    enum pmi1_command command;
    size_t count;
    struct {
        const char *name, *value;
    } pairs[PMI1_PAIRS_MAX]; /* what follows the command; they point into the line */
};

/* Reads a line of size bytes, without its newline; the line is cut into strings and must have room
 * for one more byte. ORTE_ERR_BAD_PARAM: not a request. */
int pmi1_request_read(struct pmi1_request *request, char *line, size_t size) KEEL_MUST_CHECK;
/* The value of a name, NULL when it is not there. */
const char *pmi1_request_value(const struct pmi1_request *request, const char *name);
/* A decimal number, a minus allowed; false: the text is none, and number stays. */
bool pmi1_number(const char *text, int *number);
/* The same of a name's value; false also when the name is not there. */
bool pmi1_request_number(const struct pmi1_request *request, const char *name, int *number);

/* The value of PMI_process_mapping for ranks on these nodes: "(vector,(node,nodes,ranks),...)".
 * Nodes are numbered in the order of their first ranks. Readers begin again at the first block when
 * ranks are left, so what repeats stands there once. It is the empty string, which means unknown,
 * when it does not fit or there is no memory. */
void pmi1_mapping(char *text, size_t size, const uint32_t *node_of, uint32_t ranks);

#endif
