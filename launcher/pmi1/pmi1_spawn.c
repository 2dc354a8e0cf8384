#include <config.h>

#include <base/data/array.h>
#include <launcher/pmi1/pmi1_spawn.h>

#include <base/data/strings.h>
#include <launcher/pmi1/pmi1_wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MAX = 1024 };

/* --- strings --- */

/* Room for one string more. */
static bool may_add(struct pmi1_spawn *spawn, size_t size)
{
    spawn->items++;
    spawn->bytes += size + 1;
    return spawn->items <= PMI1_SPAWN_ITEMS_MAX && spawn->bytes <= PMI1_SPAWN_BYTES_MAX;
}

static void take_back(struct pmi1_spawn *spawn, size_t size)
{
    spawn->items--;
    spawn->bytes -= size + 1;
}

/* In the place of an older one, which counts no more. */
static int set_string(struct pmi1_spawn *spawn, char **string, const char *value)
{
    char *copy = may_add(spawn, strlen(value)) ? strdup(value) : NULL;
    if (!copy) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (*string) {
        take_back(spawn, strlen(*string));
        free(*string);
    }
    *string = copy;
    return ORTE_SUCCESS;
}

/* "KEY=VALUE", in the place of an older one of that key, which counts no more. */
static int set_pair(struct pmi1_spawn *spawn, char ***pairs, const char *key, const char *value)
{
    const char *old = strings_value(*pairs, key);
    size_t size = strlen(key) + strlen(value) + 2;
    size_t old_size = old ? strlen(key) + strlen(old) + 2 : 0;
    char *pair = may_add(spawn, size) ? malloc(size) : NULL;
    if (pair) {
        snprintf(pair, size, "%s=%s", key, value);
    }
    if (!pair || !strings_set(pairs, pair)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (old_size > 0) {
        take_back(spawn, old_size);
    }
    return ORTE_SUCCESS;
}

/* --- the info --- */

/* As the HNP calls them; what has "%s" is made of the value. */
static const struct {
    const char *key, *name, *form;
} places[] = {
    {"host", "host", "%s"},
    {"hostfile", "hostfile", "%s"},
    {"map_by", "map_by", "%s"},
    {"ppr", "ppr", "%s"},
    {"npernode", "ppr", "%s:node"},
    {"ppn", "ppr", "%s:node"},
    {"pernode", "ppr", "1:node"},
    {"rank_by", "rank_by", "%s"},
    {"bind_to", "bind_to", "%s"},
    {"add-host", "add-host", "%s"},
    {"add-hostfile", "add-hostfile", "%s"},
    {"mapper", "mapper", "%s"},
};

static int take_info(struct pmi1_spawn *spawn, const char *key, const char *value)
{
    struct spawn_wish *wish = &spawn->wishes[spawn->count - 1];
    char text[PMI1_LINE_MAX + 16];
    if (strcmp(key, "wdir") == 0) {
        return set_string(spawn, &wish->app.wdir, value);
    }
    if (strcmp(key, "path") == 0) {
        return set_string(spawn, &wish->app.path, value);
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        if (strcmp(key, places[i].key) == 0) {
            const char *mark = strstr(places[i].form, "%s");
            snprintf(text, sizeof(text), "%s%s", mark ? value : "",
                     mark ? mark + strlen("%s") : places[i].form);
            return set_pair(spawn, &wish->info, places[i].name, text);
        }
    }
    return ORTE_SUCCESS;
}

/* --- lines --- */

/* What stands behind "name="; NULL: another line. */
static const char *value_of(const char *line, const char *name)
{
    size_t size = strlen(name);
    return strncmp(line, name, size) == 0 && line[size] == '=' ? line + size + 1 : NULL;
}

/* The same behind a name and a number, "arg3=". */
static const char *numbered(const char *line, const char *name)
{
    size_t size = strlen(name), digits;
    if (strncmp(line, name, size) != 0) {
        return NULL;
    }
    digits = strspn(line + size, "0123456789");
    return digits && line[size + digits] == '=' ? line + size + digits + 1 : NULL;
}

static int take_number(const char *text, int *number)
{
    return pmi1_number(text, number) ? ORTE_SUCCESS : ORTE_ERR_BAD_PARAM;
}

/* argv[0] is there from the beginning: "" until execname comes. */
static int take_argument(struct pmi1_spawn *spawn, struct spawn_wish *wish, const char *value)
{
    return may_add(spawn, strlen(value)) && strings_add(&wish->app.argv, strdup(value))
               ? ORTE_SUCCESS
               : ORTE_ERR_OUT_OF_RESOURCE;
}

/* A key, and later its value. */
static int take_pair(struct pmi1_spawn *spawn, const char *line, bool *known)
{
    const char *value;
    const int wrong = ORTE_ERR_BAD_PARAM;
    *known = true;
    if ((value = numbered(line, "preput_key_"))) {
        return strchr(value, '=') ? wrong : set_string(spawn, &spawn->put_key, value);
    }
    if ((value = numbered(line, "info_key_"))) {
        return strchr(value, '=') ? wrong : set_string(spawn, &spawn->info_key, value);
    }
    if ((value = numbered(line, "preput_val_"))) {
        return spawn->put_key ? set_pair(spawn, &spawn->puts, spawn->put_key, value) : wrong;
    }
    if ((value = numbered(line, "info_val_"))) {
        return spawn->info_key ? take_info(spawn, spawn->info_key, value) : wrong;
    }
    *known = false;
    return ORTE_SUCCESS;
}

int pmi1_spawn_line(struct pmi1_spawn *spawn, const char *line)
{
    struct spawn_wish *wish = &spawn->wishes[spawn->count - 1];
    const char *value;
    bool known;
    int number = 0, status = take_pair(spawn, line, &known);
    if (known) {
        return status;
    }
    if (strcmp(line, "endcmd") == 0) {
        spawn->open = false;
    } else if ((value = value_of(line, "nprocs"))) {
        status = take_number(value, &number);
        wish->count = number > 0 ? (uint32_t) number : 0;
    } else if ((value = value_of(line, "execname"))) {
        status = set_string(spawn, &wish->app.argv[0], value);
    } else if ((value = value_of(line, "totspawns"))) {
        status = take_number(value, &spawn->total);
    } else if ((value = value_of(line, "spawnssofar"))) {
        status = take_number(value, &spawn->so_far);
    } else if ((value = numbered(line, "arg"))) {
        status = take_argument(spawn, wish, value);
    }
    return status;
}

int pmi1_spawn_begin(struct pmi1_spawn *spawn)
{
    if (spawn->count >= BLOCKS_MAX ||
        !array_add(&spawn->wishes, spawn->count, sizeof(*spawn->wishes))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    struct spawn_wish *wish = &spawn->wishes[spawn->count];
    *wish = (struct spawn_wish){0};
    if (!strings_add(&wish->app.argv, strdup(""))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    spawn->items++;
    spawn->bytes++;
    spawn->count++;
    spawn->open = true;
    return ORTE_SUCCESS;
}

bool pmi1_spawn_is_whole(const struct pmi1_spawn *spawn)
{
    return spawn->so_far >= spawn->total;
}

uint64_t pmi1_spawn_ranks(const struct pmi1_spawn *spawn)
{
    uint64_t ranks = 0;
    for (uint32_t i = 0; i < spawn->count; i++) {
        ranks += spawn->wishes[i].count;
    }
    return ranks;
}

const char *pmi1_spawn_lacks(const struct pmi1_spawn *spawn)
{
    const char *lacks = NULL;
    for (uint32_t i = 0; i < spawn->count && !lacks; i++) {
        const struct spawn_wish *wish = &spawn->wishes[i];
        lacks = !wish->app.argv[0][0] ? "execname" : wish->count == 0 ? "nprocs" : NULL;
    }
    return lacks;
}

void pmi1_spawn_fini(struct pmi1_spawn *spawn)
{
    for (uint32_t i = 0; i < spawn->count; i++) {
        spawn_wish_fini(&spawn->wishes[i]);
    }
    free(spawn->wishes);
    strings_free(spawn->puts);
    free(spawn->put_key);
    free(spawn->info_key);
    *spawn = (struct pmi1_spawn){0};
}
