#include <config.h>

#include <launcher/pmi1/pmi1_wire.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum pmi1_command command;
} commands[] = {
    {"init", PMI1_INIT},
    {"get_maxes", PMI1_GET_MAXES},
    {"get_appnum", PMI1_GET_APPNUM},
    {"get_my_kvsname", PMI1_GET_MY_KVSNAME},
    {"get_universe_size", PMI1_GET_UNIVERSE_SIZE},
    {"put", PMI1_PUT},
    {"get", PMI1_GET},
    {"barrier_in", PMI1_BARRIER_IN},
    {"finalize", PMI1_FINALIZE},
    {"abort", PMI1_ABORT},
    {"publish_name", PMI1_PUBLISH_NAME},
    {"lookup_name", PMI1_LOOKUP_NAME},
    {"unpublish_name", PMI1_UNPUBLISH_NAME},
};

static enum pmi1_command find_command(const char *kind, const char *name)
{
    if (strcmp(kind, "mcmd") == 0) {
        return strcmp(name, "spawn") == 0 ? PMI1_SPAWN : PMI1_UNKNOWN;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return commands[i].command;
        }
    }
    return PMI1_UNKNOWN;
}

/* Cuts "name=value" in two. */
static bool cut_pair(char *word, const char **name, const char **value)
{
    char *equals = strchr(word, '=');
    if (!equals || equals == word || equals - word > PMI1_NAME_MAX) {
        return false;
    }
    *equals = '\0';
    *name = word;
    *value = equals + 1;
    return true;
}

int pmi1_request_read(struct pmi1_request *request, char *line, size_t size)
{
    struct pmi1_request read = {0};
    const char *kind = NULL, *name = NULL;
    char *rest = NULL;
    if (size >= PMI1_LINE_MAX || memchr(line, '\0', size)) {
        return ORTE_ERR_BAD_PARAM;
    }
    line[size] = '\0';
    char *word = strtok_r(line, " ", &rest);
    if (!word || !cut_pair(word, &kind, &name) ||
        (strcmp(kind, "cmd") != 0 && strcmp(kind, "mcmd") != 0)) {
        return ORTE_ERR_BAD_PARAM;
    }
    read.command = find_command(kind, name);
    while ((word = strtok_r(NULL, " ", &rest)) != NULL) {
        if (read.count == PMI1_PAIRS_MAX ||
            !cut_pair(word, &read.pairs[read.count].name, &read.pairs[read.count].value)) {
            return ORTE_ERR_BAD_PARAM;
        }
        read.count++;
    }
    *request = read;
    return ORTE_SUCCESS;
}

const char *pmi1_request_value(const struct pmi1_request *request, const char *name)
{
    for (size_t i = 0; i < request->count; i++) {
        if (strcmp(request->pairs[i].name, name) == 0) {
            return request->pairs[i].value;
        }
    }
    return NULL;
}

bool pmi1_number(const char *text, int *number)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < INT_MIN || value > INT_MAX) {
        return false;
    }
    *number = (int) value;
    return true;
}

bool pmi1_request_number(const struct pmi1_request *request, const char *name, int *number)
{
    const char *text = pmi1_request_value(request, name);
    return text && pmi1_number(text, number);
}

/* --- PMI_process_mapping --- */

/* Nodes are numbered as ranks meet them, so that the first is 0. NULL: no memory. */
static uint32_t *renumber(const uint32_t *node_of, uint32_t ranks)
{
    uint32_t nodes = 0, met = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        nodes = node_of[rank] >= nodes ? node_of[rank] + 1 : nodes;
    }
    uint32_t *number = calloc((size_t) nodes + 1, sizeof(*number)); /* + 1; 0: not met */
    uint32_t *renumbered = calloc((size_t) ranks + 1, sizeof(*renumbered));
    for (uint32_t rank = 0; rank < ranks && number && renumbered; rank++) {
        uint32_t *of_node = &number[node_of[rank]];
        *of_node = *of_node ? *of_node : ++met;
        renumbered[rank] = *of_node - 1;
    }
    if (!number) {
        free(renumbered);
        renumbered = NULL;
    }
    free(number);
    return renumbered;
}

/* The smallest number of ranks after which the nodes repeat, the last time perhaps in part. border
 * has a place for each rank: up to it, the longest end that is also the beginning. */
static uint32_t find_period(const uint32_t *node_of, uint32_t ranks, uint32_t *border)
{
    uint32_t length = 0;
    for (uint32_t rank = 1; rank < ranks; rank++) {
        while (length > 0 && node_of[rank] != node_of[length]) {
            length = border[length - 1];
        }
        length += node_of[rank] == node_of[length];
        border[rank] = length;
    }
    return ranks - length;
}

/* Ranks from here on that are on the same node. */
static uint32_t run_length(const uint32_t *node_of, uint32_t rank, uint32_t ranks)
{
    uint32_t end = rank;
    while (end < ranks && node_of[end] == node_of[rank]) {
        end++;
    }
    return end - rank;
}

/* The empty string: it does not fit. Returns the number of blocks. */
static uint32_t write_blocks(char *text, size_t size, const uint32_t *node_of, uint32_t ranks)
{
    size_t used = (size_t) snprintf(text, size, "(vector");
    uint32_t blocks = 0;
    for (uint32_t rank = 0; rank < ranks; blocks++) {
        uint32_t node = node_of[rank], nodes = 0;
        uint32_t length = run_length(node_of, rank, ranks);
        /* neighbouring nodes with as many ranks go together */
        while (rank < ranks && node_of[rank] == node + nodes &&
               run_length(node_of, rank, ranks) == length) {
            nodes++;
            rank += length;
        }
        size_t left = used < size ? size - used : 0;
        used +=
            (size_t) snprintf(left ? text + used : NULL, left, ",(%u,%u,%u)", node, nodes, length);
    }
    if (used + 2 > size) {
        text[0] = '\0';
        return blocks;
    }
    text[used] = ')';
    text[used + 1] = '\0';
    return blocks;
}

void pmi1_mapping(char *text, size_t size, const uint32_t *node_of, uint32_t ranks)
{
    uint32_t *renumbered = renumber(node_of, ranks);
    uint32_t *border = calloc((size_t) ranks + 1, sizeof(*border));
    text[0] = '\0';
    if (renumbered && border) {
        uint32_t period = find_period(renumbered, ranks, border);
        uint32_t blocks = write_blocks(text, size, renumbered, period);
        if (write_blocks(text, size, renumbered, ranks) > blocks) {
            (void) write_blocks(text, size, renumbered, period);
        }
    }
    free(renumbered);
    free(border);
}
