#include <config.h>

#include <base/data/array.h>
#include <base/settings/log.h>
#include <base/settings/param_file.h>
#include <base/text/text_file.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WARNINGS_MAX = 16 };

/* A file while it is being cut into lines. */
struct parse {
    struct param_file *file;
    unsigned line, warnings;
};

bool param_name_ok(const char *name)
{
    if (!*name || isdigit((unsigned char) *name)) {
        return false;
    }
    size_t length = 0;
    for (; name[length]; length++) {
        unsigned char c = (unsigned char) name[length];
        if (length == PARAM_NAME_MAX || c >= 0x80 || !(isalnum(c) || c == '_')) {
            return false;
        }
    }
    return true;
}

static void warn(struct parse *parse, const char *what)
{
    parse->warnings++;
    if (parse->warnings <= WARNINGS_MAX) {
        log_warn(LOG_BASE, "%s:%u: %s%s", parse->file->path, parse->line, what,
                 parse->warnings == WARNINGS_MAX ? " (no more warnings about this file)" : "");
    }
}

static char *trim(char *text, char *end)
{
    while (text < end && isspace((unsigned char) *text)) {
        text++;
    }
    while (end > text && isspace((unsigned char) end[-1])) {
        end--;
    }
    *end = '\0';
    return text;
}

static char *find_comment(char *line)
{
    for (char *c = strchr(line, '#'); c; c = strchr(c + 1, '#')) {
        if (c == line || isspace((unsigned char) c[-1])) {
            return c;
        }
    }
    return line + strlen(line);
}

static bool add_line(struct parse *parse, const char *name, const char *value)
{
    struct param_file *file = parse->file;
    if (!array_add(&file->lines, file->count, sizeof(*file->lines))) {
        return false;
    }
    file->lines[file->count++] = (struct param_line){name, value, parse->line};
    return true;
}

/* line ends with a NUL; what is behind it is not touched. */
static void parse_line(struct parse *parse, char *line)
{
    line = trim(line, find_comment(line));
    if (!*line) {
        return;
    }
    char *equal = strchr(line, '=');
    if (!equal) {
        warn(parse, "not \"name = value\"");
        return;
    }
    char *end = equal + 1 + strlen(equal + 1);
    char *name = trim(line, equal);
    char *value = trim(equal + 1, end);
    if (!param_name_ok(name)) {
        warn(parse, "what stands before the = is not a parameter's name");
    } else if (strlen(value) > PARAM_VALUE_MAX) {
        warn(parse, "the value is too long");
    } else if (!add_line(parse, name, value)) {
        warn(parse, "no memory");
    }
}

/* text has size bytes and a NUL behind them. */
static void parse_text(struct param_file *file, size_t size)
{
    struct parse parse = {.file = file};
    char *end = file->text + size;
    for (char *line = file->text, *next; line < end; line = next) {
        char *stop = memchr(line, '\n', (size_t) (end - line));
        next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        *stop = '\0';
        parse.line++;
        if (strlen(line) != (size_t) (stop - line)) {
            warn(&parse, "a zero byte");
        } else {
            parse_line(&parse, line);
        }
    }
}

void param_file_read(struct param_file *file, const char *path)
{
    char reason[PATH_MAX + 128];
    size_t size;
    *file = (struct param_file){.path = NULL};
    int status =
        text_file_read(&file->text, &size, path, PARAM_FILE_MAX, NULL, reason, sizeof(reason));
    file->path = status == ORTE_SUCCESS ? strdup(path) : NULL;
    if (file->path) {
        parse_text(file, size);
    } else if (status != ORTE_ERR_FILE_OPEN_FAILURE || (errno != ENOENT && errno != ENOTDIR)) {
        log_warn(LOG_BASE, "%s", status == ORTE_SUCCESS ? "out of memory" : reason);
    }
}

const struct param_line *param_file_find(const struct param_file *file, const char *name)
{
    for (size_t i = file->count; i > 0; i--) {
        if (strcmp(file->lines[i - 1].name, name) == 0) {
            return &file->lines[i - 1];
        }
    }
    return NULL;
}

void param_file_fini(struct param_file *file)
{
    free(file->lines);
    free(file->text);
    free(file->path);
    *file = (struct param_file){.path = NULL};
}
