#include <config.h>

#include <launcher/head/explain/rank_stacks.h>

#include <base/data/array.h>
#include <base/text/reason.h>
#include <launcher/job/rank_list.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_BYTES = 400, CALL_BYTES = 128 };

/* In the order of printing. */
enum kind { KIND_MAIN, KIND_OTHER, KIND_NONE };

/* What some ranks have in common. */
struct shared {
    enum kind kind;
    char *text;      /* owned: the frames, or why there are none */
    uint32_t *ranks; /* owned; one may be there twice */
    uint32_t count;
};

struct rank_stacks {
    bool by_call;
    uint32_t rank_count;
    uint8_t *told; /* owned, by rank: its threads */
    struct shared list[RANK_STACKS_MAX];
    uint32_t count;
    uint32_t dropped; /* threads whose stack was one too many */
};

int rank_stacks_create(struct rank_stacks **out, uint32_t rank_count, bool by_call)
{
    struct rank_stacks *stacks = calloc(1, sizeof(*stacks));
    uint8_t *told = calloc((size_t) rank_count + 1, sizeof(*told));
    if (!stacks || !told) {
        free(stacks);
        free(told);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    stacks->rank_count = rank_count;
    stacks->by_call = by_call;
    stacks->told = told;
    *out = stacks;
    return ORTE_SUCCESS;
}

void rank_stacks_destroy(struct rank_stacks *stacks)
{
    for (uint32_t i = 0; stacks && i < stacks->count; i++) {
        free(stacks->list[i].text);
        free(stacks->list[i].ranks);
    }
    if (stacks) {
        free(stacks->told);
    }
    free(stacks);
}

static bool is_public(const char *function)
{
    static const char *const prefixes[] = {"MPI_", "PMPI_", "PMIx_", "keel_", "orte_", "shmem_"};
    bool is = false;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes) && !is; i++) {
        is = strncmp(function, prefixes[i], strlen(prefixes[i])) == 0;
    }
    return is;
}

/* The frames from the outermost such function on; all of them where there is none. */
static const char *call_of(const char *frames)
{
    const char *found = frames;
    for (const char *at = frames; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        found = is_public(at) ? at : found;
    }
    return found;
}

static bool is_shared(const struct rank_stacks *stacks, const struct shared *shared, enum kind kind,
                      const char *text)
{
    bool by_call = stacks->by_call && kind == KIND_MAIN;
    return shared->kind == kind && (by_call ? strcmp(call_of(shared->text), call_of(text)) == 0
                                            : strcmp(shared->text, text) == 0);
}

static int add_rank(struct shared *shared, uint32_t rank)
{
    if (!array_add(&shared->ranks, shared->count, sizeof(*shared->ranks))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    shared->ranks[shared->count++] = rank;
    return ORTE_SUCCESS;
}

/* Takes the text. */
static int add(struct rank_stacks *stacks, uint32_t rank, enum kind kind, char *text)
{
    uint32_t i = 0;
    while (text && i < stacks->count && !is_shared(stacks, &stacks->list[i], kind, text)) {
        i++;
    }
    if (text && i == RANK_STACKS_MAX) {
        stacks->dropped++;
        free(text);
        return ORTE_SUCCESS;
    }
    if (text && i == stacks->count) {
        stacks->list[stacks->count++] = (struct shared){.kind = kind, .text = text};
    } else {
        free(text);
    }
    return text ? add_rank(&stacks->list[i], rank) : ORTE_ERR_OUT_OF_RESOURCE;
}

int rank_stacks_tell(struct rank_stacks *stacks, uint32_t rank, bool main, const char *frames)
{
    if (rank >= stacks->rank_count || strlen(frames) > STACK_BYTES_MAX ||
        stacks->told[rank] == STACKS_MAX) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    stacks->told[rank]++;
    return add(stacks, rank, main ? KIND_MAIN : KIND_OTHER, strdup(frames));
}

int rank_stacks_fail(struct rank_stacks *stacks, uint32_t rank, const char *why)
{
    if (rank >= stacks->rank_count || stacks->told[rank] == STACKS_MAX) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    stacks->told[rank]++;
    return add(stacks, rank, KIND_NONE, strndup(why, RANK_STACKS_WHY_BYTES - 1));
}

/* --- text --- */

void rank_stacks_call(char *call, size_t size, const char *frames)
{
    const char *found = call_of(frames);
    snprintf(call, size, "%.*s", (int) strcspn(found, " \n"), found);
}

static int by_kind_and_size(const void *a, const void *b)
{
    const struct shared *const *left = a, *const *right = b;
    if ((*left)->kind != (*right)->kind) {
        return (*left)->kind < (*right)->kind ? -1 : 1;
    }
    if ((*left)->count != (*right)->count) {
        return (*left)->count > (*right)->count ? -1 : 1;
    }
    return *left < *right ? -1 : 1;
}

/* The line may be a daemon's. */
static void say_printable(char *line, rank_states_say *say, void *arg)
{
    reason_printable(line);
    say(arg, line);
}

static void print_title(const struct shared *shared, uint32_t count, uint32_t of, const char *list,
                        const char *verb, rank_states_say *say, void *arg)
{
    char line[LIST_BYTES + CALL_BYTES + RANK_STACKS_WHY_BYTES + 64], call[CALL_BYTES];
    rank_stacks_call(call, sizeof(call), shared->text);
    if (shared->kind == KIND_MAIN) {
        snprintf(line, sizeof(line), "%u of %u %s in %s (%s):", count, of, verb, call, list);
    } else if (shared->kind == KIND_OTHER) {
        snprintf(line, sizeof(line), "another thread of %u of %u is in %s (%s):", count, of, call,
                 list);
    } else {
        snprintf(line, sizeof(line), "no stack of %u of %u (%s): %.*s", count, of, list,
                 (int) strcspn(shared->text, "\n"), shared->text);
    }
    say_printable(line, say, arg);
}

static void print_frames(const char *frames, rank_states_say *say, void *arg)
{
    char line[STACK_FRAME_BYTES + 16];
    unsigned number = 0;
    for (const char *at = frames; *at && number < STACK_FRAMES_MAX; number++) {
        size_t size = strcspn(at, "\n");
        snprintf(line, sizeof(line), "  #%u %.*s", number, (int) size, at);
        say_printable(line, say, arg);
        at += size + (at[size] == '\n');
    }
}

/* members: room for a flag for each rank. */
static void print_shared(const struct rank_stacks *stacks, const struct shared *shared,
                         bool *members, const char *verb, rank_states_say *say, void *arg)
{
    char list[LIST_BYTES];
    uint32_t count = 0;
    memset(members, 0, stacks->rank_count * sizeof(*members));
    for (uint32_t i = 0; i < shared->count; i++) {
        count += !members[shared->ranks[i]];
        members[shared->ranks[i]] = true;
    }
    rank_list_print(list, sizeof(list), members, stacks->rank_count);
    print_title(shared, count, stacks->rank_count, list, verb, say, arg);
    if (shared->kind != KIND_NONE) {
        print_frames(shared->text, say, arg);
    }
}

void rank_stacks_print(const struct rank_stacks *stacks, const char *verb, rank_states_say *say,
                       void *arg)
{
    const struct shared *sorted[RANK_STACKS_MAX];
    bool *members = calloc((size_t) stacks->rank_count + 1, sizeof(*members));
    for (uint32_t i = 0; i < stacks->count; i++) {
        sorted[i] = &stacks->list[i];
    }
    qsort(sorted, stacks->count, sizeof(*sorted), by_kind_and_size);
    for (uint32_t i = 0; members && i < stacks->count; i++) {
        print_shared(stacks, sorted[i], members, verb, say, arg);
    }
    if (stacks->dropped > 0) {
        char line[64];
        snprintf(line, sizeof(line), "and %u threads with other stacks", stacks->dropped);
        say(arg, line);
    }
    free(members);
}
