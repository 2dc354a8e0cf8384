#include <config.h>

#include <launcher/head/explain/rank_states.h>

#include <base/text/reason.h>
#include <launcher/job/rank_list.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_BYTES = 400 };

struct rank_states {
    uint32_t count;
    struct rank_state_told *ranks; /* owned, and what they do; that is NULL: not told */
};

int rank_states_create(struct rank_states **out, uint32_t rank_count)
{
    struct rank_states *states = calloc(1, sizeof(*states));
    if (states) {
        states->ranks = calloc((size_t) rank_count + 1, sizeof(*states->ranks));
        states->count = rank_count;
    }
    if (!states || !states->ranks) {
        free(states);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *out = states;
    return ORTE_SUCCESS;
}

void rank_states_destroy(struct rank_states *states)
{
    for (uint32_t rank = 0; states && rank < states->count; rank++) {
        free((char *) states->ranks[rank].what);
        blob_fini(&states->ranks[rank].counters);
    }
    if (states) {
        free(states->ranks);
    }
    free(states);
}

int rank_states_tell(struct rank_states *states, uint32_t rank, const struct rank_state_told *told)
{
    if (rank >= states->count) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    struct rank_state_told *state = &states->ranks[rank];
    if (state->what) {
        return ORTE_EXISTS;
    }
    char *what = strndup(told->what, RANK_STATE_BYTES - 1);
    if (!what) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    reason_printable(what);
    *state = *told;
    state->what = what;
    state->counters = (struct blob){0};
    return blob_append(&state->counters, told->counters.data, told->counters.size);
}

const struct rank_state_told *rank_states_find(const struct rank_states *states, uint32_t rank)
{
    return rank < states->count && states->ranks[rank].what ? &states->ranks[rank] : NULL;
}

/* --- text --- */

/* Ranks that do the same, as part of a row of ranks that is sorted by what they do. */
struct group {
    const struct rank_state_told *const *ranks; /* borrowed: in the order of their numbers */
    uint32_t count;
};

static int by_what(const void *a, const void *b)
{
    const struct rank_state_told *const *left = a, *const *right = b;
    int order = strcmp((*left)->what, (*right)->what);
    return order ? order : *left < *right ? -1 : *left > *right;
}

static int by_size(const void *a, const void *b)
{
    const struct group *left = a, *right = b;
    if (left->count != right->count) {
        return left->count > right->count ? -1 : 1;
    }
    return left->ranks[0] < right->ranks[0] ? -1 : 1;
}

/* Those that were told, sorted; malloc'd. NULL: no memory. */
static const struct rank_state_told **sort_ranks(const struct rank_states *states, uint32_t *count)
{
    const struct rank_state_told **sorted = calloc((size_t) states->count + 1, sizeof(*sorted));
    *count = 0;
    for (uint32_t rank = 0; sorted && rank < states->count; rank++) {
        if (states->ranks[rank].what) {
            sorted[(*count)++] = &states->ranks[rank];
        }
    }
    if (sorted) {
        qsort(sorted, *count, sizeof(struct rank_state_told *), by_what);
    }
    return sorted;
}

/* malloc'd, the largest first. NULL: no memory. */
static struct group *make_groups(const struct rank_state_told *const *sorted, uint32_t count,
                                 uint32_t *group_count)
{
    struct group *groups = calloc((size_t) count + 1, sizeof(*groups));
    *group_count = 0;
    for (uint32_t i = 0; groups && i < count; i++) {
        if (i == 0 || strcmp(sorted[i]->what, sorted[i - 1]->what) != 0) {
            groups[(*group_count)++].ranks = &sorted[i];
        }
        groups[*group_count - 1].count++;
    }
    if (groups) {
        qsort(groups, *group_count, sizeof(*groups), by_size);
    }
    return groups;
}

static void print_rank(const struct rank_state_told *state, uint32_t rank, rank_states_say *say,
                       void *arg)
{
    char line[512];
    if (state->pid) {
        snprintf(line, sizeof(line), "  rank %u on node %s, pid %u: for %llu.%llu s", rank,
                 state->node, state->pid, (unsigned long long) (state->for_ms / 1000u),
                 (unsigned long long) (state->for_ms % 1000u / 100u));
        say(arg, line);
    }
}

/* members: room for a flag for each rank, all false, as it is left. */
static void print_group(const struct rank_states *states, const struct group *group, bool *members,
                        rank_states_say *say, void *arg)
{
    char line[LIST_BYTES + RANK_STATE_BYTES + 64], list[LIST_BYTES];
    for (uint32_t i = 0; i < group->count; i++) {
        members[group->ranks[i] - states->ranks] = true;
    }
    rank_list_print(list, sizeof(list), members, states->count);
    snprintf(line, sizeof(line), "%u of %u: %s (%s)", group->count, states->count,
             group->ranks[0]->what, list);
    say(arg, line);
    for (uint32_t i = 0; i < group->count; i++) {
        members[group->ranks[i] - states->ranks] = false;
    }
}

static void print_groups(const struct rank_states *states, const struct group *groups,
                         uint32_t count, bool *members, rank_states_say *say, void *arg)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < count && i < RANK_STATES_GROUPS; i++) {
        print_group(states, &groups[i], members, say, arg);
        for (uint32_t j = 0; j < groups[i].count && lines < RANK_STATES_LINES; j++, lines++) {
            print_rank(groups[i].ranks[j], (uint32_t) (groups[i].ranks[j] - states->ranks), say,
                       arg);
        }
    }
}

void rank_states_print(const struct rank_states *states, rank_states_say *say, void *arg)
{
    uint32_t count, group_count = 0;
    const struct rank_state_told **sorted = sort_ranks(states, &count);
    struct group *groups = sorted ? make_groups(sorted, count, &group_count) : NULL;
    bool *members = calloc((size_t) states->count + 1, sizeof(bool));
    if (groups && members) {
        print_groups(states, groups, group_count, members, say, arg);
    }
    free(sorted);
    free(groups);
    free(members);
}
