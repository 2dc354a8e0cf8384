#include <config.h>

#include <base/host/cgroup.h>

#include <base/text/sysfile.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 256 * 1024, LEVELS_MAX = 64 };

/* ---- parsers ---- */

static bool copy_span(char *to, size_t size, const char *from, size_t length)
{
    if (length >= size) {
        return false;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

/* Is it one of the words between commas? */
static bool has_word(const char *words, size_t length, const char *wanted)
{
    const char *end = words + length;
    while (words < end) {
        size_t word = strcspn(words, ",");
        word = word < (size_t) (end - words) ? word : (size_t) (end - words);
        if (word == strlen(wanted) && memcmp(words, wanted, word) == 0) {
            return true;
        }
        words += word + 1;
    }
    return false;
}

/* A line is "ID:CONTROLLERS:PATH"; version 2 has the id 0 and no controllers. */
bool cgroup_parse_path(const char *text, enum cgroup_version version, const char *controller,
                       char *path, size_t size)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        const char *end = line + length;
        const char *words = memchr(line, ':', length);
        const char *group = words ? memchr(words + 1, ':', (size_t) (end - words - 1)) : NULL;
        if (group && group[1] == '/') {
            size_t words_length = (size_t) (group - words - 1);
            bool wanted = version == CGROUP_V2 ? words_length == 0 && strncmp(line, "0:", 2) == 0
                                               : has_word(words + 1, words_length, controller);
            if (wanted) {
                return copy_span(path, size, group + 1, (size_t) (end - group - 1));
            }
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

/* A field of mountinfo, in which blanks are written as \040 and the like. */
static bool copy_field(char *to, size_t size, const char *from, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        char c = from[i];
        if (c == '\\' && length - i > 3 && strspn(from + i + 1, "01234567") >= 3) {
            c = (char) ((from[i + 1] - '0') * 64 + (from[i + 2] - '0') * 8 + (from[i + 3] - '0'));
            i += 3;
        }
        if (used + 1 >= size) {
            return false;
        }
        to[used++] = c;
    }
    to[used] = '\0';
    return true;
}

/* The start of the field with this number, counted from 0, and its length; NULL: too few. */
static const char *field(const char *line, const char *end, unsigned number, size_t *length)
{
    for (; number > 0; number--) {
        line = memchr(line, ' ', (size_t) (end - line));
        if (!line) {
            return NULL;
        }
        line++;
    }
    *length = strcspn(line, " \n");
    return line;
}

static bool is_wanted_mount(const char *tail, const char *end, enum cgroup_version version,
                            const char *controller)
{
    static const char type_v2[] = "cgroup2", type_v1[] = "cgroup";
    size_t type_length = 0, options_length = 0;
    const char *type = field(tail, end, 0, &type_length);
    const char *options = field(tail, end, 2, &options_length);
    if (version == CGROUP_V2) {
        return type_length == strlen(type_v2) && memcmp(type, type_v2, type_length) == 0;
    }
    return type_length == strlen(type_v1) && memcmp(type, type_v1, type_length) == 0 && options &&
           has_word(options, options_length, controller);
}

/* A line is "ID PARENT DEV ROOT POINT OPTIONS TAG... - TYPE SOURCE SUPER-OPTIONS". */
bool cgroup_parse_mount(const char *text, enum cgroup_version version, const char *controller,
                        char *root, char *point, size_t size)
{
    for (const char *line = text; *line;) {
        const char *end = line + strcspn(line, "\n");
        const char *tail = strstr(line, " - ");
        size_t root_length = 0, point_length = 0;
        const char *root_field = field(line, end, 3, &root_length);
        const char *point_field = field(line, end, 4, &point_length);
        bool whole = point_field && *root_field == '/' && *point_field == '/' && tail &&
                     tail > point_field && tail < end;
        if (whole && is_wanted_mount(tail + 3, end, version, controller)) {
            return copy_field(root, size, root_field, root_length) &&
                   copy_field(point, size, point_field, point_length);
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

bool cgroup_folder(const char *path, const char *root, const char *point, char *folder, size_t size)
{
    size_t root_length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    const char *rest = "";
    if (strncmp(path, root, root_length) == 0 &&
        (path[root_length] == '/' || path[root_length] == '\0')) {
        rest = strcmp(path + root_length, "/") == 0 ? "" : path + root_length;
    }
    int length = snprintf(folder, size, "%s%s", point, rest);
    return length > 0 && (size_t) length < size;
}

static unsigned divide_up(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) {
        return 0;
    }
    long long cpus = quota / period + (quota % period != 0);
    return cpus < INT_MAX ? (unsigned) cpus : INT_MAX;
}

unsigned cgroup_parse_cpu_max(const char *text)
{
    char *end;
    long long quota = strtoll(text, &end, 10);
    if (end == text || *end != ' ') {
        return 0; /* "max ..." or not what the kernel writes */
    }
    return divide_up(quota, strtoll(end + 1, NULL, 10));
}

/* ---- reading ---- */

uint64_t cgroup_parse_oom_kills(const char *text)
{
    static const char name[] = "oom_kill ";
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, sizeof(name) - 1) == 0) {
            return strtoull(line + sizeof(name) - 1, NULL, 10);
        }
    }
    return 0;
}

static bool read_in(const char *folder, const char *name, char *text, size_t size)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return sysfile_text(path, text, size);
}

/* What one group allows; UINT64_MAX: it sets no limit. */
static uint64_t group_cpus(const char *folder, enum cgroup_version version)
{
    char text[64], period[64];
    unsigned cpus = 0;
    if (version == CGROUP_V2 && read_in(folder, "cpu.max", text, sizeof(text))) {
        cpus = cgroup_parse_cpu_max(text);
    } else if (version == CGROUP_V1 && read_in(folder, "cpu.cfs_quota_us", text, sizeof(text)) &&
               read_in(folder, "cpu.cfs_period_us", period, sizeof(period))) {
        cpus = divide_up(strtoll(text, NULL, 10), strtoll(period, NULL, 10));
    }
    return cpus ? cpus : UINT64_MAX;
}

/* Both versions call the files so. */
static uint64_t group_pids(const char *folder, enum cgroup_version version)
{
    char max[64], current[64];
    (void) version;
    if (!read_in(folder, "pids.max", max, sizeof(max)) || strncmp(max, "max", 3) == 0 ||
        !read_in(folder, "pids.current", current, sizeof(current))) {
        return UINT64_MAX;
    }
    uint64_t most = strtoull(max, NULL, 10), there = strtoull(current, NULL, 10);
    return there < most ? most - there : 0;
}

/* What is limited, and where. */
struct kind {
    const char *controller;
    const char *usual[2][2]; /* by version: where its groups are found most often */
    const char *proof[2];    /* by version: a file of each of its groups */
    uint64_t (*limit)(const char *folder, enum cgroup_version version);
};

static const struct kind cpu = {
    "cpu",
    {[CGROUP_V1] = {"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"},
     [CGROUP_V2] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}},
    {[CGROUP_V1] = "cpu.cfs_quota_us", [CGROUP_V2] = "cgroup.procs"},
    group_cpus,
};
static const struct kind pids = {
    "pids",
    {[CGROUP_V1] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup/pids"},
     [CGROUP_V2] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}},
    {[CGROUP_V1] = "cgroup.procs", [CGROUP_V2] = "cgroup.procs"},
    group_pids,
};

static const struct kind memory = {
    .controller = "memory",
    .usual = {[CGROUP_V1] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory"},
              [CGROUP_V2] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}},
    .proof = {[CGROUP_V1] = "memory.oom_control", [CGROUP_V2] = "cgroup.procs"},
};

static bool find_mount(const struct kind *kind, enum cgroup_version version, char *root,
                       char *point, size_t size)
{
    char *text = malloc(TEXT_MAX);
    bool found = text && sysfile_text("/proc/self/mountinfo", text, TEXT_MAX) &&
                 cgroup_parse_mount(text, version, kind->controller, root, point, size);
    free(text);
    return found;
}

/* The usual places first: mountinfo is long where there are many containers. */
static bool find_folder(const struct kind *kind, enum cgroup_version version, const char *path,
                        char *folder, size_t size)
{
    char root[PATH_MAX], point[PATH_MAX], file[PATH_MAX + 32];
    for (unsigned i = 0; i < 2; i++) {
        if (cgroup_folder(path, "/", kind->usual[version][i], folder, size)) {
            snprintf(file, sizeof(file), "%s/%s", folder, kind->proof[version]);
            if (access(file, F_OK) == 0) {
                return true;
            }
        }
    }
    return find_mount(kind, version, root, point, sizeof(root)) &&
           cgroup_folder(path, root, point, folder, size);
}

/* The least limit from the group up to where it is mounted: above that, there are no such files. */
static uint64_t version_limit(const char *groups, const struct kind *kind,
                              enum cgroup_version version)
{
    char path[PATH_MAX], folder[PATH_MAX];
    uint64_t least = UINT64_MAX;
    if (!cgroup_parse_path(groups, version, kind->controller, path, sizeof(path)) ||
        !find_folder(kind, version, path, folder, sizeof(folder))) {
        return UINT64_MAX;
    }
    for (int level = 0; level < LEVELS_MAX && *folder; level++) {
        uint64_t limit = kind->limit(folder, version);
        least = limit < least ? limit : least;
        char *slash = strrchr(folder, '/');
        if (!slash || strcmp(folder, "/sys/fs/cgroup") == 0) {
            break;
        }
        *slash = '\0';
    }
    return least;
}

static uint64_t least_limit(const struct kind *kind)
{
    char groups[16 * 1024];
    if (!sysfile_text("/proc/self/cgroup", groups, sizeof(groups))) {
        return UINT64_MAX;
    }
    uint64_t v1 = version_limit(groups, kind, CGROUP_V1);
    uint64_t v2 = version_limit(groups, kind, CGROUP_V2);
    return v1 < v2 ? v1 : v2;
}

unsigned cgroup_cpus(void)
{
    uint64_t cpus = least_limit(&cpu);
    return cpus < UINT_MAX ? (unsigned) cpus : 0;
}

uint64_t cgroup_pids(void)
{
    return least_limit(&pids);
}

static uint64_t version_oom_kills(const char *groups, enum cgroup_version version)
{
    static const char *const files[] = {
        [CGROUP_V1] = "memory.oom_control", [CGROUP_V2] = "memory.events"};
    char path[PATH_MAX], folder[PATH_MAX], text[512];
    bool found = cgroup_parse_path(groups, version, memory.controller, path, sizeof(path)) &&
                 find_folder(&memory, version, path, folder, sizeof(folder)) &&
                 read_in(folder, files[version], text, sizeof(text));
    return found ? cgroup_parse_oom_kills(text) : 0;
}

uint64_t cgroup_oom_kills(void)
{
    char groups[16 * 1024];
    if (!sysfile_text("/proc/self/cgroup", groups, sizeof(groups))) {
        return 0;
    }
    return version_oom_kills(groups, CGROUP_V1) + version_oom_kills(groups, CGROUP_V2);
}
