#include <config.h>

#include <launcher/request/output_request.h>
#include <launcher/request/suggest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- words ---- */

static bool word_is(const char *word, size_t size, const char *name)
{
    if (strlen(name) != size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        char c = word[i] == '_' ? '-' : word[i];
        if (strncasecmp(&c, &name[i], 1) != 0) {
            return false;
        }
    }
    return true;
}

static bool apply_tag(struct output_request *output, const char *word, size_t size)
{
    static const struct {
        const char *name;
        enum output_tag tag;
    } tags[] = {{"tag", OUTPUT_TAG_JOB},
                {"tag-detailed", OUTPUT_TAG_DETAILED},
                {"tag-fullname", OUTPUT_TAG_FULLNAME},
                {"rank", OUTPUT_TAG_RANK}};
    for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
        if (word_is(word, size, tags[i].name)) {
            output->tag = tags[i].tag > output->tag ? tags[i].tag : output->tag;
            return true;
        }
    }
    return false;
}

static bool apply_qualifier(struct output_request *output, const char *word, size_t size)
{
    if (word_is(word, size, "nocopy") || word_is(word, size, "copy")) {
        output->no_copy = size == strlen("nocopy");
    } else if (word_is(word, size, "raw")) {
        output->raw = true;
    } else if (word_is(word, size, "nojobid") && output->files == OUTPUT_FILES_DIR) {
        output->no_jobid = true;
    } else if (word_is(word, size, "pattern") && output->files != OUTPUT_FILES_DIR) {
        output->files = OUTPUT_FILES_PATTERN;
    } else {
        return false;
    }
    return true;
}

/* ---- files ---- */

/* Whether what is behind a colon looks like qualifiers, and not like the rest of a name. */
static bool looks_qualifying(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    return *text && text[strspn(text, letters)] == '\0';
}

/* NAME:QUALIFIER,... or NAME:QUALIFIER:...: cuts them off the name. */
static int take_qualifiers(struct output_request *output, char *name, char *reason, size_t size)
{
    const char *known = output->files == OUTPUT_FILES_DIR ? "copy, nocopy, raw or nojobid"
                                                          : "copy, nocopy, raw or pattern";
    for (char *colon; (colon = strrchr(name, ':')) && looks_qualifying(colon + 1); *colon = '\0') {
        for (const char *word = colon + 1; *word; word += *word == ',') {
            size_t length = strcspn(word, ",");
            if (!apply_qualifier(output, word, length)) {
                snprintf(reason, size, "'%.*s' behind the colon: %s is needed", (int) length, word,
                         known);
                return ORTE_ERR_BAD_PARAM;
            }
            word += length;
        }
    }
    return ORTE_SUCCESS;
}

/* The letter of a conversion; 0: it is none. */
static char conversion(const char *at)
{
    return at[0] == '%' && at[1] && strchr("rhjn%", at[1]) ? at[1] : '\0';
}

static int check_pattern(const char *pattern, char *reason, size_t size)
{
    for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%')) {
        if (!conversion(at)) {
            snprintf(reason, size,
                     "'%.2s' in the pattern: %%r (rank), %%h (host), %%j (job), %%n "
                     "(namespace) or %%%% is needed",
                     at);
            return ORTE_ERR_BAD_PARAM;
        }
    }
    return ORTE_SUCCESS;
}

static int set_files(struct output_request *output, enum output_files files, const char *text,
                     char *reason, size_t size)
{
    char *name = strdup(text);
    struct output_request set = *output;
    set.files = files;
    set.no_copy = set.no_jobid = false;
    int status = name ? take_qualifiers(&set, name, reason, size) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS && !*name) {
        snprintf(reason, size,
                 files == OUTPUT_FILES_DIR ? "a folder is needed" : "a file is needed");
        status = ORTE_ERR_BAD_PARAM;
    }
    if (status == ORTE_SUCCESS && set.files == OUTPUT_FILES_PATTERN) {
        status = check_pattern(name, reason, size);
    }
    if (status != ORTE_SUCCESS) {
        free(name);
        return status;
    }
    free(output->path);
    set.path = name;
    *output = set;
    return ORTE_SUCCESS;
}

int output_parse_dir(struct output_request *output, const char *text, char *reason, size_t size)
{
    return set_files(output, OUTPUT_FILES_DIR, text, reason, size);
}

static void explain_unknown(const char *word, size_t size, char *reason, size_t reason_size)
{
    static const char *const names[] = {
        "tag", "tag-detailed",           "tag-fullname", "rank",  "timestamp",
        "raw", "merge-stderr-to-stdout", "dir=",         "file=", NULL};
    if (word_is(word, size, "xml")) {
        snprintf(reason, reason_size,
                 "'xml': there is no XML; tags mark lines for programs, and --report json tells "
                 "what becomes of the job");
        return;
    }
    suggest_among(names, word, size, reason, reason_size);
}

int output_parse(struct output_request *output, const char *words, bool *merge, char *reason,
                 size_t reason_size)
{
    for (const char *word = words;; word++) {
        size_t size = strcspn(word, ",");
        /* to the end: a name may have commas */
        if (strncasecmp(word, "dir=", 4) == 0) {
            return set_files(output, OUTPUT_FILES_DIR, word + 4, reason, reason_size);
        }
        if (strncasecmp(word, "file=", 5) == 0) {
            return set_files(output, OUTPUT_FILES_NAME, word + 5, reason, reason_size);
        }
        if (word_is(word, size, "timestamp")) {
            output->timestamp = true;
        } else if (word_is(word, size, "raw")) {
            output->raw = true;
        } else if (word_is(word, size, "merge-stderr-to-stdout") || word_is(word, size, "merge")) {
            *merge = true;
        } else if (!apply_tag(output, word, size)) {
            explain_unknown(word, size, reason, reason_size);
            return ORTE_ERR_BAD_PARAM;
        }
        word += size;
        if (!*word) {
            return ORTE_SUCCESS;
        }
    }
}

void output_request_fini(struct output_request *output)
{
    free(output->path);
    free(output->ranks);
    *output = (struct output_request){0};
}

/* ---- paths ---- */

static bool pattern_has(const char *pattern, const char *letters)
{
    for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%')) {
        if (strchr(letters, conversion(at))) {
            return true;
        }
    }
    return false;
}

bool output_is_shared(const struct output_request *output)
{
    return output->files == OUTPUT_FILES_PATTERN && !pattern_has(output->path, "r");
}

bool output_needs_node(const struct output_request *output)
{
    return output->files == OUTPUT_FILES_PATTERN && pattern_has(output->path, "hn");
}

static void put_conversion(FILE *out, char letter, const struct output_origin *origin)
{
    switch (letter) {
    case 'r':
        fprintf(out, "%u", origin->rank);
        break;
    case 'j':
        fprintf(out, "%u", OUTPUT_JOB);
        break;
    case 'h':
        for (const char *at = origin->node; *at; at++) {
            fputc(*at == '/' ? '_' : *at, out);
        }
        break;
    case 'n':
        fputs(origin->nspace, out);
        break;
    default:
        fputc('%', out);
        break;
    }
}

static void put_pattern(FILE *out, const char *pattern, const struct output_origin *origin)
{
    for (const char *at = pattern; *at; at++) {
        if (*at == '%') {
            put_conversion(out, *++at, origin);
        } else {
            fputc(*at, out);
        }
    }
}

char *output_path(const struct output_request *output, const struct output_origin *origin)
{
    const char *stream = origin->number == 1 ? "stdout" : "stderr";
    char *path = NULL;
    size_t size;
    FILE *out = open_memstream(&path, &size);
    if (!out) {
        return NULL;
    }
    if (output->files == OUTPUT_FILES_PATTERN) {
        put_pattern(out, output->path, origin);
        fprintf(out, ".%s", stream);
    } else if (output->files == OUTPUT_FILES_NAME) {
        fprintf(out, "%s.%u.%s", output->path, origin->rank, stream);
    } else if (output->no_jobid) {
        fprintf(out, "%s/rank.%u/%s", output->path, origin->rank, stream);
    } else {
        fprintf(out, "%s/%u/rank.%u/%s", output->path, OUTPUT_JOB, origin->rank, stream);
    }
    if (fclose(out) != 0) {
        free(path);
        return NULL;
    }
    return path;
}
