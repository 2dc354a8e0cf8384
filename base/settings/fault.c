#include <config.h>

#include <base/settings/fault_rules.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool fault_enabled;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by lock. */
static struct fault_rule rules[FAULT_RULES_MAX];
static size_t rule_count;

static struct param fault_rules = PARAM_STRING(
    "fault", "",
    "Failures to cause on purpose: \"POINT:ACTION[=VALUE][:p=P][:seed=N][:after=N]; ...\".");
PARAM_ROWS("base", fault_rules);

static void set_rules(const struct fault_rule *parsed, size_t count)
{
    pthread_mutex_lock(&lock);
    memcpy(rules, parsed, count * sizeof(*rules));
    rule_count = count;
    __atomic_store_n(&fault_enabled, count > 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

int fault_set(const char *text)
{
    struct fault_rule parsed[FAULT_RULES_MAX] = {{.after = 0}};
    char reason[512];
    size_t count = 0;
    int status = text ? fault_rules_parse(text, parsed, &count, reason, sizeof(reason)) : 0;
    if (status == ORTE_SUCCESS) {
        set_rules(parsed, count);
    }
    return status;
}

int fault_open(char *reason, size_t size)
{
    struct fault_rule parsed[FAULT_RULES_MAX];
    size_t count = 0;
    if (!param_fits(&fault_rules, reason, size)) {
        return ORTE_ERR_BAD_PARAM;
    }
    int status = fault_rules_parse(param_string(&fault_rules), parsed, &count, reason, size);
    if (status == ORTE_SUCCESS) {
        status = fault_rules_check(parsed, count, reason, size);
    }
    if (status == ORTE_SUCCESS && count > 0) {
        set_rules(parsed, count);
    }
    return status;
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

static bool rule_fires_locked(struct fault_rule *rule)
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
