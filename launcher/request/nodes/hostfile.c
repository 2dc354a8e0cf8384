#include <config.h>

#include <launcher/request/nodes/hostfile.h>

#include <base/settings/param.h>
#include <base/text/reason.h>
#include <base/text/text_file.h>
#include <launcher/request/nodes/span.h>
#include <launcher/request/suggest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* slots=N, max_slots=N */
static int parse_setting(struct span word, uint32_t *slots, uint32_t *slots_max, char *reason,
                         size_t reason_size)
{
    static const char *const names[] = {"slots=", "max_slots=", NULL};
    struct span value;
    uint32_t *number =
        span_is_named(word, "slots", &value) ? slots
        : span_is_named(word, "max_slots", &value) || span_is_named(word, "max-slots", &value)
            ? slots_max
            : NULL;
    if (!number) {
        suggest_among(names, word.at, word.size, reason, reason_size);
    } else if (*number) {
        snprintf(reason, reason_size, "'%.*s': it is there already", SPAN_SHOWN(word));
    } else if (!node_number(value.at, value.size, NODE_SLOTS_MAX, number)) {
        snprintf(reason, reason_size, "'%.*s': a whole number from 1 to %d is needed",
                 SPAN_SHOWN(word), NODE_SLOTS_MAX);
    } else {
        return ORTE_SUCCESS;
    }
    return ORTE_ERR_BAD_PARAM;
}

/* named: set when there is a host. */
static int parse_line(struct node_list *list, struct span line, bool *named, char *reason,
                      size_t reason_size)
{
    uint32_t slots = 0, slots_max = 0;
    struct span hosts = span_word(&line);
    if (hosts.size == 0) {
        return ORTE_SUCCESS;
    }
    *named = true;
    for (struct span word = span_word(&line); word.size > 0; word = span_word(&line)) {
        int status = parse_setting(word, &slots, &slots_max, reason, reason_size);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    if (slots_max && slots > slots_max) {
        snprintf(reason, reason_size, "slots=%u is more than max_slots=%u", slots, slots_max);
        return ORTE_ERR_BAD_PARAM;
    }
    return node_list_parse(list, hosts.at, hosts.size, slots, slots_max, reason, reason_size);
}

int hostfile_parse(struct node_list *list, const char *path, const char *text, size_t size,
                   char *reason, size_t reason_size)
{
    struct lines lines = {{text, size}, 0};
    struct span line;
    bool named = false;
    while (lines_next(&lines, &line)) {
        char why[256];
        int status = parse_line(list, line, &named, why, sizeof(why));
        if (status != ORTE_SUCCESS) {
            snprintf(reason, reason_size, "%s:%u: %s", path, lines.number, why);
            return status;
        }
    }
    if (!named) {
        snprintf(reason, reason_size, "%s: no host is in it", path);
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

static struct param file_timeout = PARAM_INT(
    "file_timeout_s", "30", 1, 86400, "s",
    "How long keelrun reads a hostfile, a rankfile or a file of --app that is a FIFO or a "
    "device, as <(command) is");
PARAM_ROWS("launcher", file_timeout);

static unsigned limit_ms(void)
{
    return (unsigned) param_int(&file_timeout) * 1000u;
}

int hostfile_load(char **text, size_t *size, const char *path, bool waits, char *reason,
                  size_t reason_size)
{
    char *bytes;
    int status = text_file_read(&bytes, size, path, HOSTFILE_SIZE_MAX, waits ? limit_ms : NULL,
                                reason, reason_size);
    if (status == ORTE_SUCCESS && memchr(bytes, 0, *size)) {
        unsigned line = 1;
        for (const char *at = bytes; *at; at++) {
            line += *at == '\n';
        }
        free(bytes);
        return reason_set(ORTE_ERR_FILE_READ_FAILURE, reason, reason_size,
                          "%s:%u: a byte 0 is there: not a text", path, line);
    }
    if (status == ORTE_SUCCESS) {
        *text = bytes;
    }
    return status;
}

int hostfile_read(struct node_list *list, const char *path, bool waits, char *reason,
                  size_t reason_size)
{
    char *text;
    size_t size;
    int status = hostfile_load(&text, &size, path, waits, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = hostfile_parse(list, path, text, size, reason, reason_size);
        free(text);
    }
    return status;
}
