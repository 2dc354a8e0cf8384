/* Parts of names as text: cut out of a whole name's. */
#include <config.h>

#include <orte/util/name_fns.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING_SIZE = 16, PART_TEXT_MAX = 32 };

/* The next buffer of the calling thread, with the text from begin to end. */
static char *keep(const char *begin, const char *end)
{
    static _Thread_local char ring[RING_SIZE][PART_TEXT_MAX];
    static _Thread_local unsigned next;
    char *text = ring[next++ % RING_SIZE];
    snprintf(text, PART_TEXT_MAX, "%.*s", (int) (end - begin), begin);
    return text;
}

/* "[[FAMILY,LOCAL],VPID]", or "[[WORD],VPID]" for a special jobid. */
static const char *whole(orte_jobid_t job, orte_vpid_t vpid)
{
    orte_process_name_t name = {job, vpid};
    return orte_util_print_name_args(&name);
}

char *orte_util_print_jobids(orte_jobid_t job)
{
    const char *text = whole(job, 0);
    return keep(text + 1, strrchr(text, ','));
}

char *orte_util_print_vpids(orte_vpid_t vpid)
{
    const char *text = strrchr(whole(0, vpid), ',') + 1;
    return keep(text, text + strcspn(text, "]"));
}

char *orte_util_print_job_family(orte_jobid_t job)
{
    const char *text = whole(job, 0) + 2;
    return keep(text, text + strcspn(text, ",]"));
}

char *orte_util_print_local_jobid(orte_jobid_t job)
{
    const char *text = whole(job, 0) + 2;
    size_t family = strcspn(text, ",]");
    if (text[family] == ',') {
        text += family + 1;
    }
    return keep(text, text + strcspn(text, "]"));
}

int orte_util_convert_jobid_to_string(char **text, orte_jobid_t job)
{
    orte_process_name_t name = {job, 0};
    char *made;
    int status = orte_util_convert_process_name_to_string(text ? &made : NULL, &name);
    if (status == ORTE_SUCCESS) {
        *strchr(made, '.') = 0;
        *text = made;
    }
    return status;
}

int orte_util_convert_vpid_to_string(char **text, orte_vpid_t vpid)
{
    return orte_util_convert_jobid_to_string(text, vpid); /* the same numbers and signs */
}

int orte_util_convert_string_to_jobid(orte_jobid_t *job, const char *text)
{
    orte_process_name_t name;
    char dotted[PART_TEXT_MAX];
    if (!job || !text || strlen(text) >= sizeof(dotted) - 2) {
        return ORTE_ERR_BAD_PARAM;
    }
    snprintf(dotted, sizeof(dotted), "%s.0", text);
    int status = orte_util_convert_string_to_process_name(&name, dotted);
    if (status == ORTE_SUCCESS) {
        *job = name.jobid;
    }
    return status;
}

int orte_util_convert_string_to_vpid(orte_vpid_t *vpid, const char *text)
{
    return orte_util_convert_string_to_jobid(vpid, text);
}

int orte_util_create_process_name(orte_process_name_t **name, orte_jobid_t job, orte_vpid_t vpid)
{
    if (!name) {
        return ORTE_ERR_BAD_PARAM;
    }
    orte_process_name_t *made = malloc(sizeof(*made));
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *made = (orte_process_name_t){job, vpid};
    *name = made;
    return ORTE_SUCCESS;
}
