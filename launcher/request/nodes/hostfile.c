#include <config.h>

#include <launcher/request/nodes/hostfile.h>

#include <base/text/reason.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/request/nodes/lines.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* slots=N, max_slots=N */
static int parse_setting(struct span word, uint32_t *slots, uint32_t *slots_max, char *reason,
                         size_t reason_size)
{
    struct span value;
    uint32_t *number =
        span_is_named(word, "slots", &value) ? slots
        : span_is_named(word, "max_slots", &value) || span_is_named(word, "max-slots", &value)
            ? slots_max
            : NULL;
    if (!number) {
        snprintf(reason, reason_size, "'%.*s': slots=N or max_slots=N is needed behind a host",
                 SPAN_SHOWN(word));
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
    return node_list_parse(list, hosts.at, hosts.size, slots ? slots : slots_max, slots_max, reason,
                           reason_size);
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

/* All of a file; size: how much there is. */
static ssize_t read_all(int fd, char *text, size_t max)
{
    size_t used = 0;
    while (used < max) {
        ssize_t got = read(fd, text + used, max - used);
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        used += got > 0 ? (size_t) got : 0;
    }
    return (ssize_t) used;
}

/* The text of a file that is open. */
static int load_open(char **text, size_t *size, const char *path, int fd, char *reason,
                     size_t reason_size)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        return reason_set(ORTE_ERR_FILE_READ_FAILURE, reason, reason_size, "%s: %s", path,
                          "not a regular file");
    }
    char *bytes = malloc(HOSTFILE_SIZE_MAX + 1);
    if (!bytes) {
        return reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size, "%s: %s", path,
                          "out of memory");
    }
    ssize_t got = read_all(fd, bytes, HOSTFILE_SIZE_MAX + 1);
    const char *wrong = got < 0                            ? strerror(errno)
                        : (size_t) got > HOSTFILE_SIZE_MAX ? "larger than 4 MiB"
                        : memchr(bytes, 0, (size_t) got)   ? "not a text"
                                                           : NULL;
    if (wrong) {
        free(bytes);
        return reason_set(ORTE_ERR_FILE_READ_FAILURE, reason, reason_size, "%s: %s", path, wrong);
    }
    bytes[got] = '\0';
    *text = bytes;
    *size = (size_t) got;
    return ORTE_SUCCESS;
}

int hostfile_load(char **text, size_t *size, const char *path, char *reason, size_t reason_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return reason_set(ORTE_ERR_FILE_OPEN_FAILURE, reason, reason_size, "%s: %s", path,
                          strerror(errno));
    }
    int status = load_open(text, size, path, fd, reason, reason_size);
    close(fd);
    return status;
}

int hostfile_read(struct node_list *list, const char *path, char *reason, size_t reason_size)
{
    char *text;
    size_t size;
    int status = hostfile_load(&text, &size, path, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = hostfile_parse(list, path, text, size, reason, reason_size);
        free(text);
    }
    return status;
}
