#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tools/info/launcher.h>
#include <tools/info/params.h>

enum { FIELDS = 10 };

/* The texts of a parameter, in the order of keelrun's fields. */
static const char **field(struct keel_param *param, size_t at)
{
    const char **const fields[FIELDS] = {
        &param->name,   &param->layer, &param->type, &param->default_text, &param->value,
        &param->source, &param->range, &param->unit, &param->help,         &param->complaint};
    return fields[at];
}

static void free_texts(struct keel_param *param)
{
    for (size_t i = 0; i < FIELDS; i++) {
        free((char *) *field(param, i));
    }
}

/* A copy, as the texts end with this call. */
static void keep(void *arg, const struct keel_param *param)
{
    struct params *params = arg;
    struct keel_param copy = *param;
    struct keel_param *longer = realloc(params->list, (params->count + 1) * sizeof(*longer));
    if (!longer) {
        params->failed = true;
        return;
    }
    params->list = longer;
    for (size_t i = 0; i < FIELDS; i++) {
        const char **text = field(&copy, i);
        bool none = *text == NULL;
        *text = none ? NULL : strdup(*text);
        params->failed = params->failed || (!none && !*text);
    }
    longer[params->count++] = copy;
}

static bool is_known(const struct params *params, const char *name, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(params->list[i].name, name) != 0) {
        i++;
    }
    return i < count;
}

/* Undoes keelrun's \t, \n and \\, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text; text++) {
        if (*text == '\\' && text[1]) {
            text++;
            *to++ = *text == 't' ? '\t' : *text == 'n' ? '\n' : *text;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

/* Cuts a line into its fields; false: it is no line of keelrun's. */
static bool parse(struct keel_param *param, char *line)
{
    for (size_t i = 0; i < FIELDS; i++) {
        char *end = line + strcspn(line, "\t");
        if ((*end == '\0') != (i == FIELDS - 1)) {
            return false;
        }
        char *next = *end ? end + 1 : end;
        *end = '\0';
        unescape(line);
        *field(param, i) = line;
        line = next;
    }
    param->complaint = *param->complaint ? param->complaint : NULL;
    return true;
}

/* Keeps those of keelrun's lines that the library does not have. */
static bool keep_lines(struct params *params, char *lines)
{
    size_t own = params->count;
    for (char *line = lines, *next; *line; line = next) {
        struct keel_param param;
        size_t size = strcspn(line, "\n");
        next = line + size + (line[size] == '\n');
        line[size] = '\0';
        if (!parse(&param, line)) {
            return false;
        }
        if (!is_known(params, param.name, own)) {
            keep(params, &param);
        }
    }
    return true;
}

bool params_collect(struct params *params)
{
    char reason[512] = "keelrun does not print what is expected: it is of another version";
    *params = (struct params){0};
    keel_params_each(keep, params);
    char *lines = launcher_parameters(reason, sizeof(reason));
    bool complete = lines && keep_lines(params, lines);
    free(lines);
    if (!complete) {
        fprintf(stderr, "keel-info: the launcher's parameters are missing: %s\n", reason);
    } else if (params->failed) {
        fprintf(stderr, "keel-info: out of memory\n");
    }
    return complete && !params->failed;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool matches(const struct pattern *pattern, const struct keel_param *param)
{
    char both[128];
    if (!pattern->second || strcmp(pattern->second, "all") == 0) {
        return strcmp(pattern->word, "all") == 0 || strcmp(pattern->word, param->layer) == 0 ||
               begins(param->name, pattern->word);
    }
    int size = snprintf(both, sizeof(both), "%s_%s", pattern->word, pattern->second);
    return begins(param->name, both) && (!param->name[size] || param->name[size] == '_');
}

bool params_match(const struct options *options, const struct keel_param *param)
{
    size_t i = 0;
    while (i < options->pattern_count && !matches(&options->patterns[i], param)) {
        i++;
    }
    return options->pattern_count == 0 || i < options->pattern_count;
}

void params_free(struct params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        free_texts(&params->list[i]);
    }
    free(params->list);
}
