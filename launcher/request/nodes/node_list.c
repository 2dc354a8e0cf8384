#include <config.h>

#include <launcher/request/nodes/node_list.h>

#include <arpa/inet.h>
#include <base/data/bytes.h>
#include <base/data/list.h>
#include <base/text/number.h>
#include <ctype.h>
#include <launcher/request/nodes/hostlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN_MAX = 80 };

bool node_number(const char *text, size_t size, uint32_t max, uint32_t *number)
{
    return number_read(text, size, max, number) == text + size && *number >= 1;
}

static int wrong(const char *word, size_t size, const char *what, char *reason, size_t reason_size)
{
    snprintf(reason, reason_size, "'%.*s%s': %s", (int) (size < SHOWN_MAX ? size : SHOWN_MAX), word,
             size > SHOWN_MAX ? "..." : "", what);
    return ORTE_ERR_BAD_PARAM;
}

/* Where a name stands in a list. */
struct name_link {
    struct hash_link link;
    size_t at;
};

static struct node_request *find(const struct node_list *list, const char *name)
{
    struct hash_link *link = hash_first(&list->names, hash_of_string(name));
    for (; link; link = hash_next(link)) {
        struct node_request *node = &list->nodes[container_of(link, struct name_link, link)->at];
        if (strcmp(node->name, name) == 0) {
            return node;
        }
    }
    return NULL;
}

/* The last node is found by its name from now on. */
static int index_last(struct node_list *list)
{
    struct name_link *link = malloc(sizeof(*link));
    size_t at = list->count - 1;
    if (!link || !hash_add(&list->names, &link->link, hash_of_string(list->nodes[at].name))) {
        free(link);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    link->at = at;
    return ORTE_SUCCESS;
}

int node_list_add(struct node_list *list, char *name, uint32_t slots, uint32_t slots_max)
{
    size_t bytes = list->capacity * sizeof(*list->nodes);
    void *grown = name ? bytes_grow(list->nodes, &bytes, (list->count + 1) * sizeof(*list->nodes),
                                    16 * sizeof(*list->nodes), NODES_MAX * sizeof(*list->nodes))
                       : NULL;
    if (grown) {
        list->nodes = grown;
        list->capacity = bytes / sizeof(*list->nodes);
    }
    if (!grown) {
        free(name);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    list->nodes[list->count++] = (struct node_request){name, NULL, slots, slots_max};
    return ORTE_SUCCESS;
}

/* Whom to log in as on a host; of one that comes again, the same. */
static int set_user(struct node_request *node, const char *user, char *reason, size_t reason_size)
{
    if (!*user || (node->user && strcmp(node->user, user) == 0)) {
        return ORTE_SUCCESS;
    }
    if (node->user) {
        snprintf(reason, reason_size, "'%s@%s': for this host another user, %s, is named already",
                 user, node->name, node->user);
        return ORTE_ERR_BAD_PARAM;
    }
    node->user = strdup(user);
    return node->user ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* A host that comes again brings its slots along. user: "" is none. */
static int merge(struct node_list *list, const char *user, const char *name, uint32_t slots,
                 uint32_t slots_max, char *reason, size_t reason_size)
{
    struct node_request *node = list->repeats ? NULL : find(list, name);
    if (!node && list->count == NODES_MAX) {
        snprintf(reason, reason_size, "more than %d hosts", NODES_MAX);
        return ORTE_ERR_BAD_PARAM;
    }
    if (!node) {
        int status = node_list_add(list, strdup(name), slots, slots_max);
        if (status == ORTE_SUCCESS && !list->repeats) {
            status = index_last(list);
        }
        return status == ORTE_SUCCESS
                   ? set_user(&list->nodes[list->count - 1], user, reason, reason_size)
                   : status;
    }
    node->slots = (node->slots ? node->slots : 1) + (slots ? slots : 1);
    node->slots_max = node->slots_max && slots_max ? node->slots_max + slots_max : 0;
    return node->slots <= NODE_SLOTS_MAX
               ? set_user(node, user, reason, reason_size)
               : wrong(name, strlen(name), "too many slots", reason, reason_size);
}

/* The end of a word: a comma that is not in brackets, or the end of all. */
static size_t word_size(const char *text, size_t size)
{
    bool inside = false;
    size_t i = 0;
    for (; i < size && (inside || text[i] != ','); i++) {
        inside = text[i] == '[' || (inside && text[i] != ']');
    }
    return i;
}

/* A word's host, and where its number begins; NULL: it has none. An address in brackets keeps them.
 * False: text follows the brackets that is no number. */
static bool split(const char *word, size_t size, size_t *name_size, const char **number)
{
    const char *colon = memchr(word, ':', size);
    *number = NULL;
    *name_size = size;
    if (size >= 2 && strncasecmp(word, "+e", 2) == 0) {
        return true; /* the number counts nodes */
    }
    if (size > 0 && word[0] == '[' && colon) {
        const char *close = memchr(word, ']', size);
        if (!close || (close + 1 < word + size && close[1] != ':')) {
            return false;
        }
        *name_size = (size_t) (close + 1 - word);
        *number = *name_size < size ? close + 2 : NULL;
    } else if (colon && !memchr(colon + 1, ':', size - (size_t) (colon + 1 - word))) {
        *name_size = (size_t) (colon - word);
        *number = colon + 1;
    }
    return true;
}

static bool is_address(const char *name)
{
    return strchr(name, ':') != NULL;
}

/* "fe80::1%eth0", perhaps in brackets */
static bool is_ipv6(const char *name)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    bool brackets = name[0] == '[' && name[strlen(name) - 1] == ']';
    size_t size = strcspn(name + brackets, "%]");
    if (size >= sizeof(text)) {
        return false;
    }
    snprintf(text, sizeof(text), "%.*s", (int) size, name + brackets);
    return inet_pton(AF_INET6, text, &address) == 1;
}

/* Of letters, digits and these signs; neither empty nor long. One that begins with '-' would be an
 * option of the agent's. */
static bool is_word(const char *text, const char *signs)
{
    size_t size = 0;
    while (isalnum((unsigned char) text[size]) || (text[size] && strchr(signs, text[size]))) {
        size++;
    }
    return size > 0 && size <= HOSTLIST_NAME_MAX && !text[size] && text[0] != '-';
}

/* A host's name or address. */
static bool is_name(const char *name)
{
    return is_word(name, ".-_:%[]") && (!strpbrk(name, ":[]") || is_ipv6(name));
}

bool node_is_empty(const char *name, uint32_t *wanted)
{
    *wanted = UINT32_MAX;
    return strncasecmp(name, "+e", 2) == 0 &&
           (!name[2] ||
            (name[2] == ':' && node_number(name + 3, strlen(name + 3), NODES_MAX, wanted)));
}

static bool is_relative(const char *name)
{
    uint32_t number;
    const char *end = strncasecmp(name, "+n", 2) == 0
                          ? number_read(name + 2, SIZE_MAX, NODES_MAX, &number)
                          : NULL;
    return (end && !*end) || node_is_empty(name, &number);
}

/* The agent gets "USER@HOST". */
bool node_user_ok(const char *user)
{
    return is_word(user, "._-");
}

bool node_name_ok(const char *name)
{
    return is_relative(name) || is_name(name);
}

/* All hosts of a word that has ranges. */
static int add_range(struct node_list *list, const char *user, const char *name, uint32_t slots,
                     uint32_t slots_max, char *reason, size_t reason_size)
{
    struct hostlist names;
    char what[160];
    int status = hostlist_expand(&names, name, what, sizeof(what));
    if (status != ORTE_SUCCESS) {
        return status == ORTE_ERR_OUT_OF_RESOURCE
                   ? status
                   : wrong(name, strlen(name), what, reason, reason_size);
    }
    for (uint32_t i = 0; i < names.count && status == ORTE_SUCCESS; i++) {
        status = merge(list, user, names.names[i], slots, slots_max, reason, reason_size);
    }
    hostlist_fini(&names);
    return status;
}

static int wrong_word(const struct node_list *list, const char *word, size_t size, char *reason,
                      size_t reason_size)
{
    bool relative = list->relative && size > 0 && word[0] == '+';
    return wrong(word, size,
                 relative ? "+nK, +nK:SLOTS or +e[:K] is needed, separated by commas"
                          : "NAME or NAME:SLOTS is needed, separated by commas",
                 reason, reason_size);
}

static int add_word(struct node_list *list, const char *word, size_t size, uint32_t slots,
                    uint32_t slots_max, char *reason, size_t reason_size)
{
    size_t name_size;
    const char *number;
    uint32_t given = slots;
    slots = given ? given : slots_max;
    if (!split(word, size, &name_size, &number) ||
        (number && !node_number(number, size - (size_t) (number - word), NODE_SLOTS_MAX, &slots))) {
        return wrong_word(list, word, size, reason, reason_size);
    }
    if (given && slots != given) {
        return wrong(word, size, "another number of slots is given beside it", reason, reason_size);
    }
    if (slots_max && slots > slots_max) {
        return wrong(word, size, "the number is more than max_slots", reason, reason_size);
    }
    char *text = strndup(word, name_size), *name = text ? strchr(text, '@') : NULL;
    const char *user = name ? text : "";
    if (!text) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (name) {
        *name++ = '\0';
    } else {
        name = text;
    }
    int status;
    if (name != text && (!node_user_ok(user) || is_relative(name))) {
        status = wrong(word, size, "USER@NAME is needed, of letters, digits, '.', '_' and '-'",
                       reason, reason_size);
    } else if (strchr(name, '[') && !is_address(name)) {
        status = add_range(list, user, name, slots, slots_max, reason, reason_size);
    } else if (is_name(name) || (list->relative && is_relative(name))) {
        status = merge(list, user, name, slots, slots_max, reason, reason_size);
    } else {
        status = wrong_word(list, word, size, reason, reason_size);
    }
    free(text);
    return status;
}

int node_list_parse(struct node_list *list, const char *words, size_t size, uint32_t slots,
                    uint32_t slots_max, char *reason, size_t reason_size)
{
    for (size_t at = 0;;) {
        size_t word = word_size(words + at, size - at);
        int status = add_word(list, words + at, word, slots, slots_max, reason, reason_size);
        if (status == ORTE_ERR_OUT_OF_RESOURCE) {
            snprintf(reason, reason_size, "out of memory");
        }
        at += word;
        if (status != ORTE_SUCCESS || at == size) {
            return status;
        }
        at++; /* the comma */
    }
}

static void free_link(struct hash_link *link, void *arg)
{
    (void) arg;
    free(container_of(link, struct name_link, link));
}

struct node_request *node_list_take(struct node_list *list)
{
    struct node_request *nodes = list->nodes;
    hash_each(&list->names, free_link, NULL);
    hash_fini(&list->names);
    *list = (struct node_list){0};
    return nodes;
}

void node_list_fini(struct node_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->nodes[i].name);
        free(list->nodes[i].user);
    }
    free(node_list_take(list));
}
