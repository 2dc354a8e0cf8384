#include <config.h>

#include <launcher/request/rankfile.h>

#include <base/data/bytes.h>
#include <base/data/strings.h>
#include <base/text/number.h>
#include <launcher/request/nodes/hostfile.h>
#include <launcher/request/nodes/span.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPU_MAX = 1 << 20 };

/* --- lists of processors --- */

/* "0-3,8" up to end or to the end of the text; *text is left there. */
static bool read_list(const char **text, char end)
{
    for (;; (*text)++) {
        uint32_t first, last;
        const char *behind = range_read(*text, CPU_MAX - 1, &first, &last);
        if (!behind) {
            return false;
        }
        *text = behind;
        if (!**text || **text == end) {
            return true;
        }
        if (**text != ',') {
            return false;
        }
    }
}

bool cpu_list_ok(const char *text)
{
    return read_list(&text, '\0');
}

bool rank_cpus_ok(const char *text)
{
    if (strchr(text, ':')) {
        if (!read_list(&text, ':') || *text != ':') {
            return false;
        }
        text++;
    }
    return strcmp(text, "*") == 0 || cpu_list_ok(text);
}

/* --- rankfiles --- */

/* The ranks that were read so far. */
struct reading {
    struct rank_place *ranks; /* owned; of all up to the highest */
    size_t capacity;          /* in bytes */
    uint32_t count;
    unsigned line;
    char *reason;
    size_t reason_size;
};

static struct rank_place *make_place(struct reading *reading, uint32_t rank)
{
    size_t size = sizeof(*reading->ranks);
    struct rank_place *ranks = bytes_grow(reading->ranks, &reading->capacity, (rank + 1) * size,
                                          16 * size, RANKS_MAX * size);
    if (!ranks) {
        return NULL;
    }
    reading->ranks = ranks;
    for (; reading->count <= rank; reading->count++) {
        ranks[reading->count] = (struct rank_place){0};
    }
    return &ranks[rank];
}

static int wrong(struct reading *reading, struct span word, const char *what)
{
    snprintf(reading->reason, reading->reason_size, "'%.*s': %s", SPAN_SHOWN(word), what);
    return ORTE_ERR_BAD_PARAM;
}

/* "3=alpha": the place of rank 3, on its host. */
static int read_rank(struct reading *reading, struct span word, struct rank_place **place)
{
    static const char form[] = "a line is 'rank N=HOST slot=CPUS'";
    struct span digits, name;
    uint32_t rank = 0, ignored;
    if (!span_split(word, &digits, &name)) {
        return wrong(reading, word, form);
    }
    bool zero = digits.size == 1 && digits.at[0] == '0';
    if (!zero && (!digits.size || !node_number(digits.at, digits.size, RANKS_MAX - 1, &rank))) {
        return wrong(reading, word, form);
    }
    char *host = strndup(name.at, name.size);
    if (!host || !(*place = make_place(reading, rank))) {
        free(host);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if ((*place)->host || !node_name_ok(host) || node_is_empty(host, &ignored)) {
        bool named = (*place)->host;
        free(host);
        if (!named) {
            return wrong(reading, word, "a host's name is needed behind the '='");
        }
        snprintf(reading->reason, reading->reason_size, "rank %u is in line %u already", rank,
                 (*place)->line);
        return ORTE_ERR_BAD_PARAM;
    }
    **place = (struct rank_place){.host = host, .line = reading->line};
    return ORTE_SUCCESS;
}

/* "slot=0:1-2" */
static int read_cpus(struct reading *reading, struct span word, struct rank_place *place)
{
    struct span value;
    if (!span_is_named(word, "slot", &value) && !span_is_named(word, "slots", &value)) {
        return wrong(reading, word, "slot=CPUS is needed behind the host");
    }
    place->cpus = strndup(value.at, value.size);
    if (!place->cpus) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return rank_cpus_ok(place->cpus)
               ? ORTE_SUCCESS
               : wrong(reading, word,
                       "slot=PACKAGE:CORES, slot=PACKAGE:* or slot=CORES is needed, as in "
                       "slot=0:1-2,4");
}

static int read_line(struct reading *reading, struct span line)
{
    struct rank_place *place = NULL;
    struct span word = span_word(&line);
    if (word.size == 0) {
        return ORTE_SUCCESS;
    }
    if (word.size != 4 || memcmp(word.at, "rank", 4) != 0) {
        return wrong(reading, word, "a line is 'rank N=HOST slot=CPUS'");
    }
    int status = read_rank(reading, span_word(&line), &place);
    word = span_word(&line);
    if (status == ORTE_SUCCESS && word.size > 0) {
        status = read_cpus(reading, word, place);
        word = span_word(&line);
    }
    return status == ORTE_SUCCESS && word.size > 0
               ? wrong(reading, word, "nothing can follow slot=CPUS")
               : status;
}

/* Every rank is there. */
static int check_ranks(const struct reading *reading, const char *path, char *reason,
                       size_t reason_size)
{
    if (reading->count == 0) {
        snprintf(reason, reason_size, "%s: no rank is in it", path);
        return ORTE_ERR_BAD_PARAM;
    }
    for (uint32_t rank = 0; rank < reading->count; rank++) {
        if (!reading->ranks[rank].host) {
            snprintf(reason, reason_size, "%s: rank %u is missing; the last is rank %u", path, rank,
                     reading->count - 1);
            return ORTE_ERR_BAD_PARAM;
        }
    }
    return ORTE_SUCCESS;
}

static bool set_file(struct placement *placement, const char *path)
{
    char *copy = strdup(path);
    if (copy) {
        free(placement->file);
        placement->file = copy;
    }
    return copy;
}

int rankfile_parse(struct placement *placement, const char *path, const char *text, size_t size,
                   char *reason, size_t reason_size)
{
    char why[256] = "out of memory";
    struct reading reading = {.reason = why, .reason_size = sizeof(why)};
    struct lines lines = {{text, size}, 0};
    struct span line;
    int status = ORTE_SUCCESS;
    while (status == ORTE_SUCCESS && lines_next(&lines, &line)) {
        reading.line = lines.number;
        status = read_line(&reading, line);
    }
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "%s:%u: %s", path, lines.number, why);
    } else {
        status = check_ranks(&reading, path, reason, reason_size);
    }
    if (status == ORTE_SUCCESS && !set_file(placement, path)) {
        status = ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (status != ORTE_SUCCESS) {
        rankfile_free(reading.ranks, reading.count);
        return status;
    }
    rankfile_free(placement->ranks, placement->rank_count);
    placement->ranks = reading.ranks;
    placement->rank_count = reading.count;
    return ORTE_SUCCESS;
}

int rankfile_read(struct placement *placement, const char *path, char *reason, size_t reason_size)
{
    char *text;
    size_t size;
    int status = hostfile_load(&text, &size, path, placement->files_wait, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = rankfile_parse(placement, path, text, size, reason, reason_size);
        free(text);
    }
    return status;
}

void rankfile_free(struct rank_place *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(ranks[i].host);
        free(ranks[i].cpus);
    }
    free(ranks);
}

/* --- sequences --- */

int sequence_set(struct placement *placement, struct node_list *list, const char *path)
{
    char **names = calloc(list->count + 1, sizeof(*names));
    if (!names || !set_file(placement, path)) {
        free(names);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < list->count; i++) {
        names[i] = list->nodes[i].name;
        list->nodes[i].name = NULL;
    }
    strings_free(placement->sequence);
    placement->sequence = names;
    return ORTE_SUCCESS;
}

int sequence_read(struct placement *placement, const char *path, char *reason, size_t reason_size)
{
    struct node_list list = {.repeats = true};
    int status = hostfile_read(&list, path, placement->files_wait, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = sequence_set(placement, &list, path);
    }
    node_list_fini(&list);
    return status;
}
