#include <config.h>

#include <base/settings/fault_points.h>
#include <base/settings/fault_rules.h>
#include <base/settings/param.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DELAY_MAX_MS = 60000, SHOWN_BYTES = 80 };

static const struct {
    const char *word;
    enum fault_action action;
    const char *value; /* what stands behind "="; NULL: nothing does */
} actions[] = {
    {"error", FAULT_ERROR, "an errno's name, as in EAGAIN"},
    {"drop", FAULT_DROP, NULL},
    {"delay", FAULT_DELAY, "milliseconds, 0 to 60000"},
    {"short", FAULT_SHORT, "a number of bytes"},
    {"duplicate", FAULT_DUPLICATE, NULL},
    {"early", FAULT_EARLY, NULL},
    {"reorder", FAULT_REORDER, NULL},
    {"corrupt", FAULT_CORRUPT, NULL},
    {"kill", FAULT_KILL, NULL},
};
enum { ACTIONS = sizeof(actions) / sizeof(*actions) };

/* Lists the actions that a point knows (NULL: all). */
static void list_actions(char *text, size_t size, const struct fault_point *point)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < ACTIONS; i++) {
        if (!point || fault_point_knows(point, actions[i].action)) {
            int added = snprintf(text + used, size - used, "%s%s%s", used ? ", " : "",
                                 actions[i].word, actions[i].value ? "=" : "");
            used += added > 0 && (size_t) added < size - used ? (size_t) added : 0;
        }
    }
}

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

static int parse_point(struct fault_rule *rule, const char *text, char *why, size_t size)
{
    size_t length = strlen(text);
    bool good = length > 0 && length < sizeof(rule->point);
    for (size_t i = 0; i < length && good; i++) {
        good = isalnum((unsigned char) text[i]) || strchr("._-", text[i]);
    }
    if (!good) {
        snprintf(why, size, "it does not begin with the name of a point");
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(rule->point, text, length + 1);
    return ORTE_SUCCESS;
}

static int parse_value(struct fault *fault, const char *value)
{
    switch (fault->action) {
    case FAULT_ERROR:
        return parse_errno(value, &fault->value);
    case FAULT_DELAY:
        return param_parse_int(value, false, 0, DELAY_MAX_MS, &fault->value);
    default:
        return param_parse_int(value, true, 0, INT64_MAX, &fault->value);
    }
}

/* word and value are NULL when there are none. */
static int parse_action(struct fault_rule *rule, const char *word, const char *value, char *why,
                        size_t size)
{
    size_t i = 0;
    while (i < ACTIONS && (!word || strcmp(actions[i].word, word) != 0)) {
        i++;
    }
    if (i == ACTIONS) {
        char known[128];
        list_actions(known, sizeof(known), NULL);
        snprintf(why, size, "an action has to follow the point: %s", known);
        return ORTE_ERR_BAD_PARAM;
    }
    rule->fault.action = actions[i].action;
    const char *wanted = actions[i].value;
    if (!wanted && value) {
        snprintf(why, size, "%s has no value", word);
        return ORTE_ERR_BAD_PARAM;
    }
    if (wanted && (!value || parse_value(&rule->fault, value) != ORTE_SUCCESS)) {
        snprintf(why, size, "%s= wants %s", word, wanted);
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

static int parse_option(struct fault_rule *rule, const char *word, const char *value, char *why,
                        size_t size)
{
    int64_t number = 0;
    int status = ORTE_ERR_BAD_PARAM;
    const char *wanted = "p=, seed= or after=";
    if (value && strcmp(word, "p") == 0) {
        wanted = "p= from 0 to 1";
        status = parse_probability(value, &rule->probability);
    } else if (value && (strcmp(word, "seed") == 0 || strcmp(word, "after") == 0)) {
        wanted = "a whole number";
        status = param_parse_int(value, false, 0, INT64_MAX, &number);
        *(word[0] == 's' ? &rule->random : &rule->after) = (uint64_t) number;
    }
    if (status != ORTE_SUCCESS) {
        snprintf(why, size, "%.32s%s%.32s: %s is wanted", word, value ? "=" : "",
                 value ? value : "", wanted);
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

/* Cuts text, which is one rule. */
static int parse_rule(struct fault_rule *rule, char *text, char *why, size_t size)
{
    *rule = (struct fault_rule){.probability = 1, .random = 1};
    for (int field = 0; text || field < 2; field++) {
        char *word = text ? strsep(&text, ":") : NULL;
        char *value = word && field > 0 ? strchr(word, '=') : NULL;
        if (value) {
            *value++ = '\0';
        }
        int status = field == 0   ? parse_point(rule, word, why, size)
                     : field == 1 ? parse_action(rule, word, value, why, size)
                                  : parse_option(rule, word, value, why, size);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    return ORTE_SUCCESS;
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

/* Cuts text. */
static int parse_rules(char *text, struct fault_rule *rules, size_t *count, char *reason,
                       size_t size)
{
    char shown[SHOWN_BYTES], why[256];
    size_t used = 0;
    while (text) {
        char *one = trim(strsep(&text, ";"));
        if (!*one) {
            continue;
        }
        if (used == FAULT_RULES_MAX) {
            snprintf(reason, size, "parameter fault: more than %d rules", FAULT_RULES_MAX);
            return ORTE_ERR_BAD_PARAM;
        }
        snprintf(shown, sizeof(shown), "%s", one);
        if (parse_rule(&rules[used], one, why, sizeof(why)) != ORTE_SUCCESS) {
            snprintf(reason, size, "parameter fault: bad rule \"%s\": %s", shown, why);
            return ORTE_ERR_BAD_PARAM;
        }
        used++;
    }
    *count = used;
    return ORTE_SUCCESS;
}

int fault_rules_parse(const char *text, struct fault_rule rules[FAULT_RULES_MAX], size_t *count,
                      char *reason, size_t size)
{
    char *copy = strdup(text);
    if (!copy) {
        snprintf(reason, size, "parameter fault: out of memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status = parse_rules(copy, rules, count, reason, size);
    free(copy);
    return status;
}

static const char *word_of(enum fault_action action)
{
    size_t i = 0;
    while (i + 1 < ACTIONS && actions[i].action != action) {
        i++;
    }
    return actions[i].word;
}

static int check_rule(const struct fault_rule *rule, char *why, size_t size)
{
    char known[512];
    const struct fault_point *point = fault_point_find(rule->point);
    if (!point) {
        fault_points_near(rule->point, known, sizeof(known));
        snprintf(why, size, "there is no such point; %s", known);
        return ORTE_ERR_BAD_PARAM;
    }
    if (point->lacks) {
        snprintf(why, size, "this build is one without %s", point->lacks);
        return ORTE_ERR_BAD_PARAM;
    }
    if (!fault_point_knows(point, rule->fault.action)) {
        list_actions(known, sizeof(known), point);
        snprintf(why, size, "it does not know %s; it knows %s", word_of(rule->fault.action), known);
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

int fault_rules_check(const struct fault_rule *rules, size_t count, char *reason, size_t size)
{
    char why[600];
    for (size_t i = 0; i < count; i++) {
        if (check_rule(&rules[i], why, sizeof(why)) != ORTE_SUCCESS) {
            snprintf(reason, size, "parameter fault: point %s: %s", rules[i].point, why);
            return ORTE_ERR_BAD_PARAM;
        }
    }
    return ORTE_SUCCESS;
}
