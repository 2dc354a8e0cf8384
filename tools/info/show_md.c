/* docs/parameters.md: all parameters, layer by layer, without what was set on this machine. */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <tools/info/show.h>

static const char head[] =
    "# Parameters\n"
    "\n"
    "Every parameter of Keel, by the room that reads it. `docs/man/keelrun.1` says how to set "
    "one:\n"
    "`--mca NAME VALUE`, the environment variable `KEEL_MCA_NAME`, or a line `NAME = VALUE` in\n"
    "`~/.config/keel/keel.conf` or `/etc/keel/keel.conf`. `keel-info --param NAME` shows a "
    "parameter with\n"
    "its value, and where that is from.\n"
    "\n"
    "Types: *int* and *size* are whole numbers, a size with an optional `k`, `m` or `g` (powers of "
    "1024)\n"
    "behind it; *bool* is `0`/`1`, `true`/`false`, `yes`/`no` or `on`/`off`; *enum* is one of the "
    "words\n"
    "in the column of the range; *string* is text of at most 4095 characters. A value that does "
    "not fit\n"
    "is reported once, with where it came from, and the default holds; but `fault`, `btl` and the "
    "`btl_`\n"
    "parameters of the components that are opened have to fit, or keel_init fails with the "
    "reason.\n"
    "\n"
    "This file is what `keel-info --md` prints; a lint (`tests/lint/check-docs.sh`) fails when it "
    "is not.\n";

/* A cell of code, or an empty one. */
static void show_code(const char *text)
{
    printf(*text ? " `%s` |" : " %s |", text);
}

static void show_range(const struct keel_param *param)
{
    if (strcmp(param->type, "enum") != 0) {
        printf(" %s |", param->range);
        return;
    }
    for (const char *word = param->range; *word;) {
        int size = (int) strcspn(word, ",");
        printf(" `%.*s`%s", size, word, word[size] ? "," : "");
        word += size + strspn(word + size, ", ");
    }
    printf(" |");
}

static void show_help(const char *help)
{
    size_t size = strlen(help);
    size -= size > 0 && help[size - 1] == '.';
    putchar(' ');
    for (size_t i = 0; i < size; i++) {
        printf(help[i] == '|' ? "\\%c" : "%c", help[i]);
    }
    printf(" |\n");
}

void show_md(const struct params *params)
{
    const char *layer = "";
    fputs(head, stdout);
    for (size_t i = 0; i < params->count; i++) {
        const struct keel_param *param = &params->list[i];
        if (strcmp(layer, param->layer) != 0) {
            layer = param->layer;
            printf("\n## %s\n\n| name | type | default | range | unit | meaning |\n"
                   "|---|---|---|---|---|---|\n",
                   layer);
        }
        printf("|");
        show_code(param->name);
        printf(" %s |", param->type);
        show_code(param->default_text);
        show_range(param);
        printf(" %s |", param->unit);
        show_help(param->help);
    }
}
