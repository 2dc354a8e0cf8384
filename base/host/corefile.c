#include <config.h>

#include <base/host/corefile.h>
#include <base/text/sysfile.h>

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the pattern --- */

struct text {
    char *bytes;
    size_t used, size;
    bool failed; /* it does not fit */
};

static void put(struct text *text, const char *more)
{
    size_t length = strlen(more);
    if (text->failed || text->used + length >= text->size) {
        text->failed = true;
        return;
    }
    memcpy(text->bytes + text->used, more, length + 1);
    text->used += length;
}

static void put_literal(struct text *text, char c)
{
    const char escaped[] = {'\\', c, '\0'};
    put(text, strchr("*?[]\\", c) ? escaped : escaped + 1);
}

static void put_number(struct text *text, long number)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%ld", number);
    put(text, digits);
}

static void put_specifier(struct text *text, const struct core_dump *dump, char specifier)
{
    switch (specifier) {
    case '%':
        put_literal(text, '%');
        break;
    case 'p':
        put_number(text, dump->pid);
        break;
    case 's':
        put_number(text, dump->signal);
        break;
    default:
        put(text, "*");
        break;
    }
}

bool corefile_glob(const struct core_dump *dump, const char *pattern, bool uses_pid, char *bytes,
                   size_t size)
{
    struct text text = {.bytes = bytes, .size = size};
    bool has_pid = false;
    if (pattern[0] == '\0' || pattern[0] == '|' || pattern[0] == '@') {
        return false; /* nothing, a program, or a socket */
    }
    for (const char *c = dump->folder; *c && pattern[0] != '/'; c++) {
        put_literal(&text, *c);
    }
    put(&text, pattern[0] == '/' ? "" : "/");
    for (const char *c = pattern; *c; c++) {
        if (*c != '%') {
            put_literal(&text, *c);
        } else if (*++c == '\0') {
            break;
        } else {
            has_pid = has_pid || *c == 'p';
            put_specifier(&text, dump, *c);
        }
    }
    if (uses_pid && !has_pid) {
        put(&text, ".");
        put_number(&text, dump->pid);
    }
    return !text.failed;
}

/* --- the file --- */

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* The newest of this user's files that can be it; NULL: none. */
static const char *newest(const struct core_dump *dump, const glob_t *found)
{
    const char *path = NULL;
    struct stat stat;
    struct timespec last = {.tv_sec = 0};
    for (size_t i = 0; i < found->gl_pathc; i++) {
        if (lstat(found->gl_pathv[i], &stat) == 0 && S_ISREG(stat.st_mode) &&
            stat.st_uid == geteuid() && stat.st_mtim.tv_sec >= dump->since &&
            is_newer(&stat.st_mtim, &last)) {
            path = found->gl_pathv[i];
            last = stat.st_mtim;
        }
    }
    return path;
}

char *corefile_find(const struct core_dump *dump)
{
    char pattern[256], uses_pid[8], text[2 * PATH_MAX];
    glob_t found;
    (void) sysfile_line("/proc/sys/kernel/core_uses_pid", uses_pid, sizeof(uses_pid));
    if (!sysfile_line("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern)) ||
        !corefile_glob(dump, pattern, uses_pid[0] == '1', text, sizeof(text)) ||
        glob(text, GLOB_NOSORT, NULL, &found) != 0) {
        return NULL;
    }
    const char *path = newest(dump, &found);
    char *copy = path ? strdup(path) : NULL;
    globfree(&found);
    return copy;
}
