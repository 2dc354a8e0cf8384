#include <config.h>

#include <launcher/agent/said.h>

#include <base/data/strings.h>
#include <base/text/reason.h>
#include <stdlib.h>
#include <string.h>

static void keep(struct said *said, const char *line)
{
    size_t count = strings_count(said->kept);
    char *copy = strdup(line);
    if (count < SAID_MAX) {
        (void) !strings_add(&said->kept, copy);
    } else if (copy) {
        free(said->kept[count - 1]);
        said->kept[count - 1] = copy;
    }
}

static void take_line(struct lines *lines, const char *line)
{
    struct said *said = container_of(lines, struct said, lines);
    if (said->passes) {
        said->pass(said, line);
    } else {
        keep(said, line);
    }
}

void said_init(struct said *said, struct loop *loop,
               void (*pass)(struct said *said, const char *line))
{
    *said = (struct said){.pass = pass};
    lines_init(&said->lines, loop, take_line);
}

void said_open(struct said *said, int fd)
{
    if (fd >= 0) {
        lines_open(&said->lines, fd);
    }
}

static void forget(struct said *said)
{
    strings_free(said->kept);
    said->kept = NULL;
}

void said_pass(struct said *said)
{
    said->passes = true;
    for (char **line = said->kept; line && *line; line++) {
        said->pass(said, *line);
    }
    forget(said);
}

void said_close(struct said *said)
{
    lines_close(&said->lines);
}

static bool is_blank(const char *line)
{
    return !line[strspn(line, " \t\r")];
}

char *said_last(const struct said *said)
{
    size_t count = strings_count(said->kept);
    while (count > 0 && is_blank(said->kept[count - 1])) {
        count--;
    }
    if (count == 0) {
        return NULL;
    }
    const char *line = said->kept[count - 1];
    char *last = strdup(line + strspn(line, " \t\r"));
    size_t size = last ? strlen(last) : 0;
    while (size > 0 && strchr(" \t\r", last[size - 1])) {
        last[--size] = '\0';
    }
    if (last) {
        reason_printable(last);
    }
    return last;
}

void said_fini(struct said *said)
{
    lines_drop(&said->lines);
    said->lines.used = 0;
    forget(said);
}
