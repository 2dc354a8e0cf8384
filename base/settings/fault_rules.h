/* The rules of the parameter "fault", as text: "POINT:ACTION[=VALUE][:p=P][:seed=N][:after=N]; ..."
 */
#ifndef BASE_FAULT_RULES_H
#define BASE_FAULT_RULES_H

#include <base/settings/fault.h>

enum { FAULT_RULES_MAX = 32, FAULT_POINT_BYTES = 48 };

struct fault_rule {
    char point[FAULT_POINT_BYTES];
    struct fault fault;
    double probability;
    uint64_t random; /* the generator's state */
    uint64_t after;  /* passes that still do nothing */
};

/* BAD_PARAM or OUT_OF_RESOURCE, with the reason. */
int fault_rules_parse(const char *text, struct fault_rule rules[FAULT_RULES_MAX], size_t *count,
                      char *reason, size_t size) KEEL_MUST_CHECK;
/* BAD_PARAM, with the reason: a rule's point does not exist, not in this build, or does not know
 * the rule's action. */
int fault_rules_check(const struct fault_rule *rules, size_t count, char *reason,
                      size_t size) KEEL_MUST_CHECK;

#endif
