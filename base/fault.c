#include <config.h>

#include <base/fault.h>
#include <base/log.h>
#include <base/param.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RULES_MAX = 32, POINT_BYTES = 48, DELAY_MAX_MS = 60000 };

struct rule {
    char point[POINT_BYTES];
    struct fault fault;
    double probability;
    uint64_t random; /* the generator's state */
    uint64_t after;  /* passes that still do nothing */
};

bool fault_enabled;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by lock. */
static struct rule rules[RULES_MAX];
static size_t rule_count;

static struct param fault_rules = {
    .name = "fault",
    .type = PARAM_STRING,
    .default_text = "",
    .unit = "",
    .help = "Failures to cause on purpose: \"POINT:ACTION[=VALUE][:p=P][:seed=N][:after=N]; ...\".",
};

/* ---- the rules' text ---- */

static int parse_errno(const char *text, int64_t *value)
{
    if (strcmp(text, "EWOULDBLOCK") == 0) {
        text = "EAGAIN";
    }
    for (int error = 1; error < 256; error++) {
        const char *name = strerrorname_np(error);
        if (name && strcmp(name, text) == 0) {
            *value = error;
            return ORTE_SUCCESS;
        }
    }
    return ORTE_ERR_BAD_PARAM;
}

/* A decimal fraction from 0 to 1, whatever the locale. */
static int parse_probability(const char *text, double *value)
{
    double number = 0, digit = 1;
    bool any = false, fraction = false;
    for (; *text; text++) {
        if (*text == '.' && !fraction) {
            fraction = true;
        } else if (isdigit((unsigned char) *text)) {
            any = true;
            digit = fraction ? digit / 10 : 1;
            number = fraction ? number + (*text - '0') * digit : number * 10 + (*text - '0');
        } else {
            return ORTE_ERR_BAD_PARAM;
        }
    }
    if (!any || number > 1) {
        return ORTE_ERR_BAD_PARAM;
    }
    *value = number;
    return ORTE_SUCCESS;
}

static int parse_point(struct rule *rule, const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length >= sizeof(rule->point)) {
        return ORTE_ERR_BAD_PARAM;
    }
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char) text[i]) && !strchr("._-", text[i])) {
            return ORTE_ERR_BAD_PARAM;
        }
    }
    memcpy(rule->point, text, length + 1);
    return ORTE_SUCCESS;
}

/* value is NULL when the word has no "=". */
static int parse_action(struct rule *rule, const char *word, const char *value)
{
    struct fault *fault = &rule->fault;
    if (!value) {
        fault->action = strcmp(word, "drop") == 0        ? FAULT_DROP
                        : strcmp(word, "kill") == 0      ? FAULT_KILL
                        : strcmp(word, "duplicate") == 0 ? FAULT_DUPLICATE
                        : strcmp(word, "early") == 0     ? FAULT_EARLY
                                                         : FAULT_NONE;
        return fault->action ? ORTE_SUCCESS : ORTE_ERR_BAD_PARAM;
    }
    if (strcmp(word, "error") == 0) {
        fault->action = FAULT_ERROR;
        return parse_errno(value, &fault->value);
    }
    if (strcmp(word, "delay") == 0) {
        fault->action = FAULT_DELAY;
        return param_parse_int(value, false, 0, DELAY_MAX_MS, &fault->value);
    }
    if (strcmp(word, "short") == 0) {
        fault->action = FAULT_SHORT;
        return param_parse_int(value, true, 0, INT64_MAX, &fault->value);
    }
    return ORTE_ERR_BAD_PARAM;
}

static int parse_option(struct rule *rule, const char *word, const char *value)
{
    int64_t number;
    if (!value) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (strcmp(word, "p") == 0) {
        return parse_probability(value, &rule->probability);
    }
    int rc = param_parse_int(value, false, 0, INT64_MAX, &number);
    if (rc != ORTE_SUCCESS) {
        return rc;
    }
    if (strcmp(word, "seed") == 0) {
        rule->random = (uint64_t) number;
    } else if (strcmp(word, "after") == 0) {
        rule->after = (uint64_t) number;
    } else {
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

/* Cuts text, which is one rule. */
static int parse_rule(struct rule *rule, char *text)
{
    *rule = (struct rule){.probability = 1, .random = 1};
    for (int field = 0; text; field++) {
        char *word = strsep(&text, ":");
        char *value = field > 0 ? strchr(word, '=') : NULL;
        if (value) {
            *value++ = '\0';
        }
        int rc = field == 0   ? parse_point(rule, word)
                 : field == 1 ? parse_action(rule, word, value)
                              : parse_option(rule, word, value);
        if (rc != ORTE_SUCCESS) {
            return rc;
        }
    }
    return rule->fault.action ? ORTE_SUCCESS : ORTE_ERR_BAD_PARAM;
}

static char *trim(char *text)
{
    text += strspn(text, " \t\n");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\n", text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

/* Cuts text; bad (of size bytes) gets the rule at fault. */
static int parse_rules(char *text, struct rule *list, size_t *count, char *bad, size_t size)
{
    size_t used = 0;
    while (text) {
        char *one = trim(strsep(&text, ";"));
        if (!*one) {
            continue;
        }
        snprintf(bad, size, "%s", one);
        if (used == RULES_MAX) {
            return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
        }
        int rc = parse_rule(&list[used], one);
        if (rc != ORTE_SUCCESS) {
            return ORTE_ERR_BAD_PARAM;
        }
        used++;
    }
    *count = used;
    return ORTE_SUCCESS;
}

static int set_rules(const char *text, char *bad, size_t size)
{
    struct rule parsed[RULES_MAX] = {{.after = 0}};
    size_t count = 0;
    if (text) {
        char *copy = strdup(text);
        if (!copy) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        int rc = parse_rules(copy, parsed, &count, bad, size);
        free(copy);
        if (rc != ORTE_SUCCESS) {
            return rc;
        }
    }
    pthread_mutex_lock(&lock);
    memcpy(rules, parsed, count * sizeof(*rules));
    rule_count = count;
    __atomic_store_n(&fault_enabled, count > 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return ORTE_SUCCESS;
}

int fault_set(const char *text)
{
    char bad[128];
    return set_rules(text, bad, sizeof(bad));
}

int fault_open(void)
{
    char bad[128] = "";
    const char *text = param_string(&fault_rules);
    if (!*text) {
        return ORTE_SUCCESS;
    }
    int rc = set_rules(text, bad, sizeof(bad));
    if (rc == ORTE_ERR_VALUE_OUT_OF_BOUNDS) {
        log_error(LOG_BASE, "parameter fault: more than %d rules", RULES_MAX);
        rc = ORTE_ERR_BAD_PARAM;
    } else if (rc == ORTE_ERR_BAD_PARAM) {
        log_error(LOG_BASE, "parameter fault: bad rule \"%s\"", bad);
    }
    return rc;
}

/* ---- a pass ---- */

/* SplitMix64: a number from 0 to below 1. */
static double next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double) (z >> 11) / (double) (UINT64_C(1) << 53);
}

static bool rule_fires_locked(struct rule *rule)
{
    if (rule->after > 0) {
        rule->after--;
        return false;
    }
    return next_random(&rule->random) < rule->probability;
}

static struct fault draw(const char *point)
{
    struct fault fault = {FAULT_NONE, 0};
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < rule_count; i++) {
        if (strcmp(rules[i].point, point) == 0 && rule_fires_locked(&rules[i])) {
            fault = rules[i].fault;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return fault;
}

static void sleep_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {
    }
}

struct fault fault_draw_unslept(const char *point)
{
    struct fault fault = draw(point);
    if (fault.action == FAULT_KILL) {
        log_warn(LOG_BASE, "fault point %s: killing this process", point);
        kill(getpid(), SIGKILL);
    }
    return fault;
}

struct fault fault_draw(const char *point)
{
    struct fault fault = fault_draw_unslept(point);
    if (fault.action == FAULT_DELAY) {
        sleep_ms(fault.value);
    }
    return fault;
}

bool fault_names(const char *prefix)
{
    size_t length = strlen(prefix);
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < rule_count && !found; i++) {
        found = strncmp(rules[i].point, prefix, length) == 0;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
