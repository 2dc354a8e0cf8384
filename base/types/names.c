#include <config.h>

#include <inttypes.h>
#include <keel/types.h>
#include <stdio.h>
#include <stdlib.h>

enum { RING_SIZE = 16, NAME_TEXT_MAX = 48 };

const orte_process_name_t orte_name_wildcard = {ORTE_JOBID_WILDCARD, ORTE_VPID_WILDCARD};
const orte_process_name_t orte_name_invalid = {ORTE_JOBID_INVALID, ORTE_VPID_INVALID};

/* Jobids and vpids share their special values, so one set of helpers serves both. */
_Static_assert(ORTE_JOBID_WILDCARD == ORTE_VPID_WILDCARD, "wildcards");
_Static_assert(ORTE_JOBID_INVALID == ORTE_VPID_INVALID, "invalid values");

static int compare_numbers(uint32_t a, uint32_t b)
{
    if (a == b) {
        return OPAL_EQUAL;
    }
    return a > b ? OPAL_VALUE1_GREATER : OPAL_VALUE2_GREATER;
}

int orte_util_compare_name_fields(orte_ns_cmp_bitmask_t fields, const orte_process_name_t *a,
                                  const orte_process_name_t *b)
{
    if (!a || !b) {
        return compare_numbers(a ? 1 : 0, b ? 1 : 0);
    }
    int result = OPAL_EQUAL;
    if (fields & ORTE_NS_CMP_JOBID) {
        result = compare_numbers(a->jobid, b->jobid);
    }
    if (result == OPAL_EQUAL && (fields & ORTE_NS_CMP_VPID)) {
        result = compare_numbers(a->vpid, b->vpid);
    }
    return result;
}

static void format_field(char text[static 12], uint32_t value)
{
    if (value == ORTE_JOBID_WILDCARD) {
        snprintf(text, 12, "*");
    } else if (value == ORTE_JOBID_INVALID) {
        snprintf(text, 12, "$");
    } else {
        snprintf(text, 12, "%" PRIu32, value);
    }
}

int orte_util_convert_process_name_to_string(char **text, const orte_process_name_t *name)
{
    if (!text || !name) {
        return ORTE_ERR_BAD_PARAM;
    }
    char jobid[12], vpid[12];
    format_field(jobid, name->jobid);
    format_field(vpid, name->vpid);
    char *made = malloc(NAME_TEXT_MAX);
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    snprintf(made, NAME_TEXT_MAX, "%s.%s", jobid, vpid);
    *text = made;
    return ORTE_SUCCESS;
}

/* Reads one field up to end; returns what follows it, or NULL when it is malformed. */
static const char *parse_field(const char *text, char end, uint32_t *value)
{
    if (*text == '*' || *text == '$') {
        *value = *text == '*' ? ORTE_JOBID_WILDCARD : ORTE_JOBID_INVALID;
        return text[1] == end ? text + 1 : NULL;
    }
    const char *at = text;
    uint64_t number = 0;
    while (*at >= '0' && *at <= '9') {
        number = number * 10 + (uint64_t) (*at++ - '0');
        if (number > UINT32_MAX) {
            return NULL;
        }
    }
    *value = (uint32_t) number;
    return at > text && *at == end ? at : NULL;
}

int orte_util_convert_string_to_process_name(orte_process_name_t *name, const char *text)
{
    if (!name || !text) {
        return ORTE_ERR_BAD_PARAM;
    }
    orte_process_name_t read;
    const char *dot = parse_field(text, '.', &read.jobid);
    if (!dot || !parse_field(dot + 1, '\0', &read.vpid)) {
        return ORTE_ERR_BAD_PARAM;
    }
    *name = read;
    return ORTE_SUCCESS;
}

static void print_jobid(char text[static 24], orte_jobid_t jobid)
{
    if (jobid == ORTE_JOBID_WILDCARD) {
        snprintf(text, 24, "[WILDCARD]");
    } else if (jobid == ORTE_JOBID_INVALID) {
        snprintf(text, 24, "[INVALID]");
    } else {
        snprintf(text, 24, "[%" PRIu32 ",%" PRIu32 "]", jobid >> 16, jobid & 0xffffu);
    }
}

static void print_vpid(char text[static 12], orte_vpid_t vpid)
{
    if (vpid == ORTE_VPID_WILDCARD) {
        snprintf(text, 12, "WILDCARD");
    } else if (vpid == ORTE_VPID_INVALID) {
        snprintf(text, 12, "INVALID");
    } else {
        snprintf(text, 12, "%" PRIu32, vpid);
    }
}

const char *orte_util_print_name_args(const orte_process_name_t *name)
{
    static _Thread_local char ring[RING_SIZE][NAME_TEXT_MAX];
    static _Thread_local unsigned next;

    if (!name) {
        return "[NO-NAME]";
    }
    char jobid[24], vpid[12];
    print_jobid(jobid, name->jobid);
    print_vpid(vpid, name->vpid);
    char *text = ring[next++ % RING_SIZE];
    snprintf(text, NAME_TEXT_MAX, "[%s,%s]", jobid, vpid);
    return text;
}
