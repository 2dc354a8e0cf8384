#include <config.h>

#include <launcher/node/orders/home.h>

#include <base/data/strings.h>
#include <base/host/hostname.h>
#include <base/settings/param.h>
#include <launcher/request/nodes/hostlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_MAX 1024
#define SETTING_PREFIX "KEEL_MCA_"

static struct param start_timeout = PARAM_INT("plm_start_timeout_s", "60", 1, 86400, "s",
                                              "How long the daemons may take to call home");
PARAM_ROWS("launcher", start_timeout);

uint64_t home_limit_us(void)
{
    return (uint64_t) param_int(&start_timeout) * 1000000u;
}

uint64_t home_try_us(void)
{
    return home_limit_us() / 10 * 9;
}

static bool is_given_on(const char *setting)
{
    return strncmp(setting, SETTING_PREFIX, strlen(SETTING_PREFIX)) == 0 && !strchr(setting, '\n');
}

/* The settings are all that may be long, but for the nodes' names. */
static void explain_size(char *const *settings, char *reason, size_t reason_size)
{
    size_t bytes = 0;
    for (; settings && *settings; settings++) {
        bytes += is_given_on(*settings) ? strlen(*settings) : 0;
    }
    snprintf(reason, reason_size,
             "what it has to know is more than %u KiB, %zu bytes of it the settings of --mca: put "
             "long ones into keel.conf on every node",
             HOME_SIZE_MAX / 1024u, bytes);
}

char *home_print(const struct home *home, size_t *size, char *reason, size_t reason_size)
{
    char *text = malloc(HOME_SIZE_MAX);
    if (!text) {
        snprintf(reason, reason_size, "out of memory");
        return NULL;
    }
    char key[2 * KEY_BYTES + 1];
    crypto_to_hex(key, home->job.control_key, sizeof(home->job.control_key));
    int used =
        snprintf(text, HOME_SIZE_MAX,
                 "keel " HOME_VERSION "\nkey %s\njob %s\nfamily %u\ncount %u\nradix %u\nhnp %s\n",
                 key, home->job.uuid, home->job.family, home->count, home->radix, home->contact);
    crypto_wipe(key, sizeof(key));
    if (used > 0 && (size_t) used < HOME_SIZE_MAX) {
        size_t room = HOME_SIZE_MAX - (size_t) used;
        used += home->nodes
                    ? snprintf(text + used, room, "nodes %s\n", home->nodes)
                    : snprintf(text + used, room, "vpid %u\nnode %s\n", home->vpid, home->node);
    }
    if (used > 0 && (size_t) used < HOME_SIZE_MAX) {
        used += snprintf(text + used, HOME_SIZE_MAX - (size_t) used, "%s%s",
                         home->topology ? "topology 1\n" : "", home->agent ? "agent 1\n" : "");
    }
    for (char **setting = home->settings; used > 0 && setting && *setting; setting++) {
        if (is_given_on(*setting) && (size_t) used < HOME_SIZE_MAX) {
            used += snprintf(text + used, HOME_SIZE_MAX - (size_t) used, "set %s\n", *setting);
        }
    }
    if (used < 0 || (size_t) used + 3 > HOME_SIZE_MAX) {
        crypto_wipe(text, HOME_SIZE_MAX);
        free(text);
        explain_size(home->settings, reason, reason_size);
        return NULL;
    }
    memcpy(text + used, ".\n", 3);
    *size = (size_t) used + 2;
    return text;
}

static int parse_u32(const char *value, uint32_t min, uint32_t max, uint32_t *number)
{
    int64_t parsed;
    int status = param_parse_int(value, false, min, max, &parsed);
    if (status == ORTE_SUCCESS) {
        *number = (uint32_t) parsed;
    }
    return status;
}

static int parse_text(const char *value, char **text)
{
    if (*text || !value[0]) {
        return ORTE_ERR_BAD_PARAM;
    }
    *text = strdup(value);
    return *text ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int parse_uuid(const char *value, struct home *home)
{
    if (!job_uuid_ok(value)) {
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(home->job.uuid, value, JOB_UUID_TEXT);
    return ORTE_SUCCESS;
}

static int parse_flag(const char *value, bool *flag)
{
    *flag = strcmp(value, "1") == 0;
    return *flag ? ORTE_SUCCESS : ORTE_ERR_BAD_PARAM;
}

static int parse_setting(const char *value, struct home *home)
{
    if (strings_count(home->settings) >= SETTINGS_MAX ||
        strncmp(value, SETTING_PREFIX, strlen(SETTING_PREFIX)) != 0 || !strchr(value, '=')) {
        return ORTE_ERR_BAD_PARAM;
    }
    return strings_add(&home->settings, strdup(value)) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* What each line begins with. Up to LINE_HNP all are there once; then come either vpid and node, or
 * nodes; LINE_TOPOLOGY and LINE_AGENT may be there; LINE_SET may be repeated. */
enum line {
    LINE_VERSION,
    LINE_KEY,
    LINE_JOB,
    LINE_FAMILY,
    LINE_COUNT,
    LINE_RADIX,
    LINE_HNP,
    LINE_VPID,
    LINE_NODE,
    LINE_NODES,
    LINE_TOPOLOGY,
    LINE_AGENT,
    LINE_SET,
    LINE_KINDS
};

static enum line line_of(const char *name)
{
    static const char *const names[] = {"keel",     "key",   "job",  "family", "count",
                                        "radix",    "hnp",   "vpid", "node",   "nodes",
                                        "topology", "agent", "set"};
    for (size_t i = 0; i < LINE_KINDS; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (enum line) i;
        }
    }
    return LINE_KINDS;
}

static int parse_value(enum line line, const char *value, struct home *home)
{
    switch (line) {
    case LINE_VERSION:
        return strcmp(value, HOME_VERSION) == 0 ? ORTE_SUCCESS : ORTE_ERR_NOT_SUPPORTED;
    case LINE_KEY:
        return crypto_from_hex(home->job.control_key, sizeof(home->job.control_key), value);
    case LINE_JOB:
        return parse_uuid(value, home);
    case LINE_FAMILY:
        return parse_u32(value, 1u << 16, 0xfffe0000u, &home->job.family);
    case LINE_VPID:
        return parse_u32(value, 1, 65536, &home->vpid);
    case LINE_COUNT:
        return parse_u32(value, 2, 65537, &home->count);
    case LINE_RADIX:
        return parse_u32(value, 1, 65536, &home->radix);
    case LINE_NODE:
        return parse_text(value, &home->node);
    case LINE_NODES:
        return parse_text(value, &home->nodes);
    case LINE_HNP:
        return parse_text(value, &home->contact);
    case LINE_TOPOLOGY:
        return parse_flag(value, &home->topology);
    case LINE_AGENT:
        return parse_flag(value, &home->agent);
    case LINE_SET:
        return parse_setting(value, home);
    case LINE_KINDS:
        break;
    }
    return ORTE_ERR_NOT_FOUND;
}

/* seen: a bit for each kind of line that was there. */
static int parse_line(char *text, struct home *home, unsigned *seen)
{
    char *space = strchr(text, ' ');
    if (!space) {
        return ORTE_ERR_BAD_PARAM;
    }
    *space = '\0';
    enum line line = line_of(text);
    if (line != LINE_SET && (*seen & 1u << line)) {
        return ORTE_EXISTS;
    }
    *seen |= 1u << line;
    return parse_value(line, space + 1, home);
}

static bool is_complete(unsigned seen, const struct home *home)
{
    static const unsigned always = (1u << (LINE_HNP + 1)) - 1;
    static const unsigned one = 1u << LINE_VPID | 1u << LINE_NODE, any = 1u << LINE_NODES;
    return (seen & always) == always &&
           ((seen & (one | any)) == one || (seen & (one | any)) == any) && home->vpid < home->count;
}

/* Splits the text, which is changed, and parses line by line up to the dot. */
static int parse_lines(char *text, struct home *home, unsigned *line_number)
{
    unsigned seen = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        ++*line_number;
        if (strcmp(line, ".") == 0) {
            return is_complete(seen, home) && !*rest ? ORTE_SUCCESS : ORTE_ERR_BAD_PARAM;
        }
        int status = parse_line(line, home, &seen);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    return ORTE_ERR_BAD_PARAM; /* no dot */
}

/* What stands behind "keel 2 " in a text of another version of Keel. */
static void explain_version(const char *text, size_t size, char *reason, size_t reason_size)
{
    static const char letters[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+~-";
    char line[64], *space;
    snprintf(line, sizeof(line), "%.*s", (int) (size < sizeof(line) ? size : sizeof(line)), text);
    line[strcspn(line, "\n")] = '\0';
    space = strrchr(line, ' ');
    const char *version = space && space != strchr(line, ' ') ? space + 1 : "";
    bool known = *version && !version[strspn(version, letters)];
    snprintf(reason, reason_size,
             "this keeld is of Keel %s, and keelrun of %s: the same version has to be installed on "
             "every node",
             PACKAGE_VERSION, known ? version : "another version");
}

int home_parse(struct home *home, const char *text, size_t size, char *reason, size_t reason_size)
{
    struct home read = {0};
    unsigned line = 0;
    char *copy = size <= HOME_SIZE_MAX ? malloc(size + 1) : NULL;
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    if (copy) {
        memcpy(copy, text, size);
        copy[size] = '\0';
        status = parse_lines(copy, &read, &line);
        crypto_wipe(copy, size);
        free(copy);
    }
    if (status == ORTE_SUCCESS) {
        *home = read;
        return ORTE_SUCCESS;
    }
    home_fini(&read);
    if (status == ORTE_ERR_NOT_SUPPORTED) {
        explain_version(text, size, reason, reason_size);
        return status;
    }
    snprintf(reason, reason_size, "standard input, line %u: not what keelrun says", line);
    return ORTE_ERR_BAD_PARAM;
}

static int find_name(const struct hostlist *list, const char *const *names, uint32_t *index)
{
    for (; *names; names++) {
        for (*index = 0; *index < list->count; ++*index) {
            if (host_same(list->names[*index], *names)) {
                return ORTE_SUCCESS;
            }
        }
    }
    return ORTE_ERR_NOT_FOUND;
}

int home_choose(struct home *home, const char *const *names, char *reason, size_t reason_size)
{
    struct hostlist list;
    uint32_t index = 0;
    char why[160];
    int status = hostlist_expand(&list, home->nodes, why, sizeof(why));
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "standard input: nodes: %s", why);
        return status;
    }
    if (list.count + 1 != home->count) {
        snprintf(reason, reason_size, "standard input: %u nodes for %u daemons", list.count,
                 home->count);
        status = ORTE_ERR_BAD_PARAM;
    } else if ((status = find_name(&list, names, &index)) != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "%s is none of the nodes %s", names[0] ? names[0] : "this",
                 home->nodes);
    } else {
        home->node = list.names[index];
        list.names[index] = NULL;
        home->vpid = index + 1;
    }
    hostlist_fini(&list);
    return status;
}

void home_fini(struct home *home)
{
    crypto_wipe(home->job.control_key, sizeof(home->job.control_key));
    free(home->node);
    free(home->nodes);
    free(home->contact);
    strings_free(home->settings);
    *home = (struct home){0};
}
