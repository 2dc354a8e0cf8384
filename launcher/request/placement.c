#include <config.h>

#include <launcher/request/placement.h>

#include <base/data/strings.h>
#include <base/text/reason.h>
#include <launcher/request/nodes/node_list.h>
#include <launcher/request/rankfile.h>
#include <launcher/request/suggest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORD_MAX = 40, WORDS_MAX = 16, PPR_MAX = 1 << 20, CPUS_MAX = 1 << 16 };

/* --- words --- */

struct choice {
    const char *word;
    unsigned value;
    unsigned kinds; /* of a policy, and of the policies that a modifier goes with */
};

enum { ON_NODES = 1, ON_OBJECTS = 2, BY_PPR = 4, BY_SEQ = 8, BY_RANKFILE = 16, ALL_KINDS = 31 };
enum { OBJECT = 100 /* + its level: an object among other words */ };

/* clang-format off */
#define OBJECTS(base)                                                                       \
    {"hwthread", base + TOPO_HWTHREAD, ON_OBJECTS}, {"core", base + TOPO_CORE, ON_OBJECTS}, \
    {"l1cache", base + TOPO_L1, ON_OBJECTS}, {"l2cache", base + TOPO_L2, ON_OBJECTS},       \
    {"l3cache", base + TOPO_L3, ON_OBJECTS}, {"numa", base + TOPO_NUMA, ON_OBJECTS},        \
    {"package", base + TOPO_PACKAGE, ON_OBJECTS}, {"socket", base + TOPO_PACKAGE, ON_OBJECTS}

static const struct choice map_words[] = {
    {"slot", MAP_BY_SLOT, ON_NODES},
    {"node", MAP_BY_NODE, ON_NODES},
    OBJECTS(OBJECT),
    {"ppr", MAP_BY_PPR, BY_PPR},
    {"seq", MAP_BY_SEQ, BY_SEQ},
    {"rankfile", MAP_BY_RANKFILE, BY_RANKFILE},
    {NULL, 0, 0},
};
static const struct choice ppr_words[] = {{"node", LEVEL_NODE, ON_NODES}, OBJECTS(0), {NULL, 0, 0}};
static const struct choice rank_words[] = {
    {"slot", RANK_BY_SLOT, ON_NODES},
    {"node", RANK_BY_NODE, ON_NODES},
    {"fill", RANK_BY_FILL, ON_NODES},
    {"span", RANK_BY_SPAN, ON_NODES},
    OBJECTS(OBJECT),
    {NULL, 0, 0},
};
static const struct choice rank_orders[] = {
    {"SPAN", RANK_BY_SPAN, ON_OBJECTS},
    {"FILL", RANK_BY_FILL, ON_OBJECTS},
    {NULL, 0, 0},
};
static const struct choice bind_words[] = {{"none", OBJECT, ON_NODES}, OBJECTS(0), {NULL, 0, 0}};

enum map_modifier { PE, SPAN, OVERSUBSCRIBE, NOOVERSUBSCRIBE, NOLOCAL, HWTCPUS, FROM_FILE };
static const struct choice map_modifiers[] = {
    {"PE=", PE, ALL_KINDS & ~BY_RANKFILE},
    {"SPAN", SPAN, ON_OBJECTS},
    {"OVERSUBSCRIBE", OVERSUBSCRIBE, ALL_KINDS},
    {"NOOVERSUBSCRIBE", NOOVERSUBSCRIBE, ALL_KINDS},
    {"NOLOCAL", NOLOCAL, ALL_KINDS},
    {"HWTCPUS", HWTCPUS, ALL_KINDS},
    {"FILE=", FROM_FILE, BY_SEQ | BY_RANKFILE},
    {NULL, 0, 0},
};
enum bind_modifier { OVERLOAD_ALLOWED, IF_SUPPORTED };
static const struct choice bind_modifiers[] = {
    {"overload-allowed", OVERLOAD_ALLOWED, ON_OBJECTS},
    {"if-supported", IF_SUPPORTED, ON_OBJECTS},
    {NULL, 0, 0},
};
/* clang-format on */

static void offer(placement_offer_fn *fn, void *arg, const char *behind,
                  const struct choice *choices, unsigned kinds)
{
    for (; choices->word; choices++) {
        if (choices->kinds & kinds) {
            fn(arg, behind, choices->word);
        }
    }
}

static void offer_modifiers(placement_offer_fn *fn, void *arg, const struct choice *policies,
                            const struct choice *modifiers)
{
    offer(fn, arg, "", policies, ALL_KINDS);
    for (; policies->word; policies++) {
        offer(fn, arg, policies->kinds == BY_PPR ? "ppr:*:*" : policies->word, modifiers,
              policies->kinds);
    }
}

void placement_offer_map(placement_offer_fn *fn, void *arg)
{
    offer_modifiers(fn, arg, map_words, map_modifiers);
    offer(fn, arg, "ppr:*", ppr_words, ALL_KINDS);
}

void placement_offer_rank(placement_offer_fn *fn, void *arg)
{
    offer_modifiers(fn, arg, rank_words, rank_orders);
}

void placement_offer_bind(placement_offer_fn *fn, void *arg)
{
    offer_modifiers(fn, arg, bind_words, bind_modifiers);
}

const char *level_name(unsigned level)
{
    static const char *const names[] = {"hwthread", "core", "l1cache", "l2cache",
                                        "l3cache",  "numa", "package"};
    return level < TOPO_LEVELS ? names[level] : "node";
}

/* --- reading --- */

/* Words separated by colons or commas. */
struct reader {
    const char *rest; /* NULL: nothing is left */
    const char *word; /* the one that was read last: its text, ... */
    size_t size;
    char name[WORD_MAX]; /* ... as much of it as any name has, up to its '=' */
    const char *value;   /* behind the '='; NULL: there is none */
    size_t value_size;
    char *reason;
    size_t reason_size;
};

static bool next_word(struct reader *reader)
{
    if (!reader->rest) {
        return false;
    }
    reader->word = reader->rest;
    reader->size = strcspn(reader->rest, ":,");
    const char *equals = memchr(reader->word, '=', reader->size);
    size_t named = equals ? (size_t) (equals - reader->word) + 1 : reader->size;
    snprintf(reader->name, sizeof(reader->name), "%.*s",
             (int) (named < WORD_MAX ? named : WORD_MAX - 1), reader->word);
    reader->value = equals ? equals + 1 : NULL;
    reader->value_size = equals ? reader->size - named : 0;
    reader->rest = reader->word[reader->size] ? reader->word + reader->size + 1 : NULL;
    return true;
}

static const struct choice *find(const struct choice *choices, const char *word)
{
    for (; choices->word; choices++) {
        if (strcasecmp(choices->word, word) == 0) {
            return choices;
        }
    }
    return NULL;
}

static int unknown(const struct reader *reader, const struct choice *choices)
{
    const char *names[WORDS_MAX] = {NULL};
    for (size_t i = 0; choices[i].word && i + 1 < WORDS_MAX; i++) {
        names[i] = choices[i].word;
    }
    suggest_among(names, reader->word, reader->size, reader->reason, reader->reason_size);
    return ORTE_ERR_BAD_PARAM;
}

static int read_number(const struct reader *reader, const char *text, size_t size, uint32_t max,
                       const char *example, uint32_t *number)
{
    return node_number(text, size, max, number)
               ? ORTE_SUCCESS
               : reason_set(ORTE_ERR_BAD_PARAM, reader->reason, reader->reason_size,
                            "'%.*s': a whole number from 1 to %u is needed, as in %s",
                            (int) (reader->size < WORD_MAX ? reader->size : WORD_MAX), reader->word,
                            max, example);
}

/* --- mapping --- */

/* The N and the OBJECT of ppr:N:OBJECT. */
static int read_ppr(struct reader *reader, struct placement *placement)
{
    static const char form[] = "ppr:2:package";
    if (!next_word(reader)) {
        return reason_set(ORTE_ERR_BAD_PARAM, reader->reason, reader->reason_size,
                          "'ppr': ppr:N:OBJECT is needed, as in %s", form);
    }
    int status =
        read_number(reader, reader->word, reader->size, PPR_MAX, form, &placement->per_object);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (!next_word(reader)) {
        return reason_set(ORTE_ERR_BAD_PARAM, reader->reason, reader->reason_size,
                          "'ppr:%u': ppr:N:OBJECT is needed, as in %s", placement->per_object,
                          form);
    }
    const struct choice *object = find(ppr_words, reader->name);
    if (!object) {
        return unknown(reader, ppr_words);
    }
    placement->map_level = object->value;
    return ORTE_SUCCESS;
}

static int set_policy(struct reader *reader, struct placement *placement, unsigned value)
{
    placement->map_by = value >= OBJECT ? MAP_BY_OBJECT : value;
    placement->map_level = value >= OBJECT ? value - OBJECT : LEVEL_NODE;
    placement->per_object = 0;
    placement->span = false;
    return value == MAP_BY_PPR ? read_ppr(reader, placement) : ORTE_SUCCESS;
}

/* What --map-by says besides its placement. */
struct map_extra {
    const char *file; /* of FILE= */
    size_t file_size;
    int oversubscribe;
};

static int set_modifier(struct reader *reader, struct placement *placement, struct map_extra *extra,
                        enum map_modifier modifier)
{
    switch (modifier) {
    case PE:
        return read_number(reader, reader->value, reader->value_size, CPUS_MAX, "PE=2",
                           &placement->cpus_per_rank);
    case SPAN:
        placement->span = true;
        break;
    case OVERSUBSCRIBE:
    case NOOVERSUBSCRIBE:
        if (extra->oversubscribe == (modifier == OVERSUBSCRIBE ? -1 : 1)) {
            return reason_set(ORTE_ERR_BAD_PARAM, reader->reason, reader->reason_size,
                              "OVERSUBSCRIBE and NOOVERSUBSCRIBE exclude each other");
        }
        extra->oversubscribe = modifier == OVERSUBSCRIBE ? 1 : -1;
        break;
    case NOLOCAL:
        placement->no_local = true;
        break;
    case HWTCPUS:
        placement->hwthreads = true;
        break;
    case FROM_FILE:
        extra->file = reader->value;
        extra->file_size = reader->value_size;
        break;
    }
    return ORTE_SUCCESS;
}

/* The first word is a policy, or a modifier of the one that is set already. */
static int read_map_words(struct reader *reader, struct placement *placement,
                          struct map_extra *extra)
{
    int status = ORTE_SUCCESS;
    for (bool first = true; status == ORTE_SUCCESS && next_word(reader); first = false) {
        const struct choice *policy = first ? find(map_words, reader->name) : NULL;
        const struct choice *modifier = find(map_modifiers, reader->name);
        if (policy) {
            status = set_policy(reader, placement, policy->value);
        } else if (modifier) {
            status = set_modifier(reader, placement, extra, modifier->value);
        } else if (!first || reader->size > 0 || !reader->rest) {
            status = unknown(reader, first ? map_words : map_modifiers);
        }
    }
    return status;
}

bool placement_names_policy(const char *words)
{
    struct reader reader = {.rest = words};
    return next_word(&reader) && find(map_words, reader.name);
}

static int read_map_file(struct placement *placement, const struct map_extra *extra, char *reason,
                         size_t reason_size)
{
    if (placement->map_by != MAP_BY_SEQ && placement->map_by != MAP_BY_RANKFILE) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                          "FILE=F belongs to seq and rankfile");
    }
    char why[512] = "out of memory", *path;
    const char *policy = placement->map_by == MAP_BY_SEQ ? "seq" : "rankfile";
    if (extra->file_size == 0) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                          "'%s:FILE=': a file is needed, as in %s:FILE=F", policy, policy);
    }
    path = strndup(extra->file, extra->file_size);
    if (!path) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status = placement->map_by == MAP_BY_SEQ ? sequence_read(placement, path, why, sizeof(why))
                                                 : rankfile_read(placement, path, why, sizeof(why));
    free(path);
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "%s:FILE=%s", policy, why);
    }
    return status;
}

int placement_map_by(struct placement *placement, const char *words, int *oversubscribe,
                     char *reason, size_t reason_size)
{
    struct reader reader = {.rest = words, .reason = reason, .reason_size = reason_size};
    struct placement read = *placement;
    struct map_extra extra = {.oversubscribe = 0};
    snprintf(reason, reason_size, "out of memory");
    int status = read_map_words(&reader, &read, &extra);
    if (status == ORTE_SUCCESS && extra.file) {
        status = read_map_file(&read, &extra, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        *placement = read;
        *oversubscribe = extra.oversubscribe ? extra.oversubscribe : *oversubscribe;
    }
    return status;
}

/* --- ranking and binding --- */

int placement_rank_by(struct placement *placement, const char *words, char *reason,
                      size_t reason_size)
{
    struct reader reader = {.rest = words, .reason = reason, .reason_size = reason_size};
    (void) next_word(&reader);
    const struct choice *by = find(rank_words, reader.name);
    if (!by) {
        return unknown(&reader, rank_words);
    }
    bool object = by->value >= OBJECT;
    enum rank_by rank_by = object ? RANK_BY_OBJECT : by->value;
    if (next_word(&reader)) {
        const struct choice *order = find(rank_orders, reader.name);
        if (!object) {
            return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                              "'%.40s': nothing can follow %s", reader.word, by->word);
        }
        if (!order) {
            return unknown(&reader, rank_orders);
        }
        if (reader.rest) {
            return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                              "'%.40s': nothing can follow %s:%s", reader.rest, by->word,
                              order->word);
        }
        rank_by = order->value;
    }
    placement->rank_by = rank_by;
    placement->rank_level = object ? by->value - OBJECT : LEVEL_NODE;
    return ORTE_SUCCESS;
}

int placement_bind_to(struct placement *placement, const char *words, char *reason,
                      size_t reason_size)
{
    struct reader reader = {.rest = words, .reason = reason, .reason_size = reason_size};
    struct placement read = *placement;
    for (bool first = true; next_word(&reader); first = false) {
        const struct choice *level = first ? find(bind_words, reader.name) : NULL;
        const struct choice *modifier = find(bind_modifiers, reader.name);
        if (level) {
            read.bind_given = true;
            read.bind = level->value != OBJECT;
            read.bind_level = read.bind ? level->value : TOPO_HWTHREAD;
            read.overload = read.if_supported = false;
        } else if (modifier) {
            read.overload |= modifier->value == OVERLOAD_ALLOWED;
            read.if_supported |= modifier->value == IF_SUPPORTED;
        } else if (!first || reader.size > 0 || !reader.rest) {
            return unknown(&reader, first ? bind_words : bind_modifiers);
        }
    }
    *placement = read;
    return ORTE_SUCCESS;
}

int placement_cpu_set(struct placement *placement, const char *list, char *reason,
                      size_t reason_size)
{
    if (!cpu_list_ok(list)) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                          "'%.40s': numbers of processors are needed, as in 0-3,8", list);
    }
    char *copy = strdup(list);
    if (!copy) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size, "out of memory");
    }
    free(placement->cpu_set);
    placement->cpu_set = copy;
    return ORTE_SUCCESS;
}

/* --- all of it together --- */

void placement_policy(const struct placement *placement, char name[POLICY_MAX])
{
    static const char *const names[] = {"slot", "node", "", "", "seq", "rankfile"};
    bool object = placement->map_by == MAP_BY_OBJECT;
    if (placement->map_by == MAP_BY_PPR) {
        snprintf(name, POLICY_MAX, "ppr:%u:%s", placement->per_object,
                 level_name(placement->map_level));
    } else {
        snprintf(name, POLICY_MAX, "%s",
                 object ? level_name(placement->map_level) : names[placement->map_by]);
    }
}

static int settle_map(const struct placement *placement, char *reason, size_t reason_size)
{
    char policy[POLICY_MAX];
    placement_policy(placement, policy);
    if (placement->span && placement->map_by != MAP_BY_OBJECT) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                          "--map-by %s:SPAN: SPAN goes with an object, as in core:SPAN", policy);
    }
    if (placement->map_by == MAP_BY_RANKFILE && !placement->ranks) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                          "--map-by rankfile: a file is needed, as in rankfile:FILE=F");
    }
    if (placement->map_by == MAP_BY_RANKFILE && placement->cpus_per_rank) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                          "PE=%u: the rankfile says what processors ranks have",
                          placement->cpus_per_rank);
    }
    return ORTE_SUCCESS;
}

static int settle_rank(const struct placement *placement, char *reason, size_t reason_size)
{
    bool object = placement->rank_by >= RANK_BY_OBJECT && placement->rank_level != LEVEL_NODE;
    bool on_object = placement->map_by == MAP_BY_OBJECT ||
                     (placement->map_by == MAP_BY_PPR && placement->map_level != LEVEL_NODE);
    char policy[POLICY_MAX];
    placement_policy(placement, policy);
    if (placement->rank_by != RANK_BY_DEFAULT && placement->map_by >= MAP_BY_SEQ) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                          "--rank-by: with --map-by %s the file numbers the ranks", policy);
    }
    if (object && !on_object) {
        return reason_set(
            ORTE_ERR_BAD_PARAM, reason, reason_size,
            "--rank-by %s: with --map-by %s ranks are not on an object; slot or node is "
            "needed, or --map-by %s",
            level_name(placement->rank_level), policy, level_name(placement->rank_level));
    }
    if (object && placement->rank_level < placement->map_level) {
        return reason_set(
            ORTE_ERR_BAD_PARAM, reason, reason_size,
            "--rank-by %s: an object that is %s or contains it is needed, for ranks are "
            "mapped by that",
            level_name(placement->rank_level), level_name(placement->map_level));
    }
    return ORTE_SUCCESS;
}

static int settle_bind(struct placement *placement, char *reason, size_t reason_size)
{
    if (placement->map_by == MAP_BY_RANKFILE && placement->bind_given) {
        for (uint32_t i = 0; !placement->bind && i < placement->rank_count; i++) {
            free(placement->ranks[i].cpus);
            placement->ranks[i].cpus = NULL;
        }
        return placement->bind
                   ? reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                                "--bind-to %s: the rankfile says what ranks are bound to",
                                level_name(placement->bind_level))
                   : ORTE_SUCCESS;
    }
    if (placement->cpus_per_rank && placement->bind_given && placement->bind &&
        placement->bind_level > TOPO_CORE) {
        return reason_set(
            ORTE_ERR_BAD_PARAM, reason, reason_size,
            "--bind-to %s: with PE=%u ranks are bound to processors of their own; core, "
            "hwthread or none is possible",
            level_name(placement->bind_level), placement->cpus_per_rank);
    }
    if (placement->cpus_per_rank && !placement->bind_given) {
        placement->bind = true;
        placement->bind_level = placement->hwthreads ? TOPO_HWTHREAD : TOPO_CORE;
    }
    return ORTE_SUCCESS;
}

int placement_settle(struct placement *placement, char *reason, size_t reason_size)
{
    int status = settle_map(placement, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = settle_rank(placement, reason, reason_size);
    }
    return status == ORTE_SUCCESS ? settle_bind(placement, reason, reason_size) : status;
}

void placement_fini(struct placement *placement)
{
    free(placement->cpu_set);
    free(placement->file);
    strings_free(placement->sequence);
    rankfile_free(placement->ranks, placement->rank_count);
    *placement = (struct placement){0};
}
