#include <config.h>

#include <base/text/control.h>
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tools/cli.h>

enum { OPTIONS_MAX = 32, LONG_CODES = 256 }; /* codes of rows without a letter begin there */

void cli_print(FILE *out, const char *text)
{
    while (*text) {
        size_t bytes = control_at(text);
        fputc(bytes > 0 ? '?' : *text, out);
        text += bytes > 0 ? bytes : 1;
    }
}

int cli_wrong(struct cli *cli, const char *what, const char *value)
{
    if (!cli->quiet && !cli->said) {
        fprintf(stderr, "%s: ", cli->program);
        cli_print(stderr, what);
        cli_print(stderr, value);
        fprintf(stderr, " (%s --help)\n", cli->program);
    }
    cli->said = true;
    return -1;
}

const char *cli_next(struct cli *cli)
{
    bool is_value = *cli->next && **cli->next != '-';
    cli->value = is_value ? *cli->next++ : NULL;
    return cli->value;
}

void *cli_member(const struct cli *cli)
{
    return (char *) cli->members + cli->row->offset;
}

/* --- what options do --- */

bool cli_flag(struct cli *cli, const char *value)
{
    (void) value;
    return *(bool *) cli_member(cli) = true;
}

bool cli_text(struct cli *cli, const char *value)
{
    *(const char **) cli_member(cli) = value;
    return *value;
}

static bool is_inside(const struct cli_option *row, double number)
{
    return (row->least == 0 && row->most == 0) || (number >= row->least && number <= row->most);
}

bool cli_count(struct cli *cli, const char *value)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (errno || *value < '0' || *value > '9' || *end || number > UINT32_MAX ||
        !is_inside(cli->row, (double) number)) {
        return false;
    }
    *(unsigned *) cli_member(cli) = (unsigned) number;
    return true;
}

bool cli_real(struct cli *cli, const char *value)
{
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end || !is_inside(cli->row, number)) {
        return false;
    }
    *(double *) cli_member(cli) = number;
    return true;
}

/* --- what everybody has --- */

static cli_take_fn take_completion, take_help, take_version;

static const struct cli_option common[] = {
    {"completion", "bash", "print what completes this command line in bash",
     .take = take_completion},
    {"help", NULL, "print this", .take = take_help, .letter = 'h'},
    {"version", NULL, "print the version", .take = take_version, .letter = 'V'},
};

/* NULL: there are no more. */
static const struct cli_option *row_at(const struct cli *cli, size_t index)
{
    const size_t commons = sizeof(common) / sizeof(*common);
    return index < cli->count             ? &cli->options[index]
           : index - cli->count < commons ? &common[index - cli->count]
                                          : NULL;
}

/* As --help has it; returns how long it is. */
static int print_names(char text[64], const struct cli_option *row)
{
    const char letter[] = {'-', row->letter, ',', ' ', '\0'};
    return snprintf(text, 64, "%s--%s%s%s", row->letter ? letter : "", row->name,
                    row->value ? " " : "", row->value ? row->value : "");
}

static bool take_help(struct cli *cli, const char *value)
{
    char names[64];
    int width = 0;
    const struct cli_option *row;
    (void) value;
    for (size_t i = 0; (row = row_at(cli, i)); i++) {
        int length = row->help ? print_names(names, row) : 0;
        width = length > width ? length : width;
    }
    fputs(cli->usage, stdout);
    for (size_t i = 0; (row = row_at(cli, i)); i++) {
        print_names(names, row);
        for (const char *line = row->help; line; line = strchr(line, '\n')) {
            line += *line == '\n';
            printf("  %-*s %.*s\n", width, line == row->help ? names : "",
                   (int) strcspn(line, "\n"), line);
        }
    }
    if (cli->more) {
        cli->more();
    }
    return true;
}

static bool take_version(struct cli *cli, const char *value)
{
    (void) value;
    printf("%s (Keel) %s\n", cli->program, PACKAGE_VERSION);
    return true;
}

static bool take_completion(struct cli *cli, const char *value)
{
    const struct cli_option *row;
    if (strcmp(value, "bash") != 0) {
        return cli_wrong(cli, "--completion: bash is needed, not ", value) == 0;
    }
    printf("# Completes %s's command line in bash; printed by %s --completion bash.\ncomplete -W '",
           cli->program, cli->program);
    for (size_t i = 0; (row = row_at(cli, i)); i++) {
        printf("%s%s%s", row->help ? "--" : "", row->help ? row->name : "", row->help ? " " : "");
    }
    printf("' %s\n", cli->program);
    return true;
}

/* --- reading --- */

static int code_of(const struct cli *cli, size_t index)
{
    const struct cli_option *row = row_at(cli, index);
    return row->letter ? row->letter : LONG_CODES + (int) index;
}

static bool takes_value(const struct cli_option *row)
{
    return row->value && *row->value != '[';
}

static void make_tables(const struct cli *cli, struct option table[OPTIONS_MAX + 1],
                        char letters[OPTIONS_MAX + 1])
{
    const struct cli_option *row;
    for (size_t i = 0; (row = row_at(cli, i)) && i < OPTIONS_MAX; i++) {
        table[i] = (struct option){row->name, takes_value(row) ? required_argument : no_argument,
                                   NULL, code_of(cli, i)};
        *letters = row->letter;
        letters += row->letter != 0;
    }
}

static int refuse(struct cli *cli)
{
    char what[256], range[64] = "";
    if (cli->row->most > 0) {
        snprintf(range, sizeof(range), ", but %.10g to %.10g", cli->row->least, cli->row->most);
    }
    snprintf(what, sizeof(what), "--%s does not take %.100s%s", cli->row->name,
             cli->value && *cli->value ? cli->value : "nothing", range);
    return cli_wrong(cli, what, "");
}

int cli_read(struct cli *cli, int argc, char **argv)
{
    struct option table[OPTIONS_MAX + 1] = {{0}};
    char letters[OPTIONS_MAX + 1] = "";
    int code;
    make_tables(cli, table, letters);
    opterr = !cli->quiet;
    while ((code = getopt_long(argc, argv, letters, table, NULL)) != -1) {
        size_t index = 0;
        while ((cli->row = row_at(cli, index)) && code_of(cli, index) != code) {
            index++;
        }
        if (!cli->row) {
            return -1; /* getopt_long has said why */
        }
        bool prints = index >= cli->count;
        cli->next = argv + optind;
        cli->value = optarg;
        if (!(prints && cli->quiet) && !cli->row->take(cli, optarg)) {
            return refuse(cli);
        }
        optind = (int) (cli->next - argv);
        if (prints) {
            return 1;
        }
    }
    return argv[optind] ? cli_wrong(cli, "takes no arguments: ", argv[optind]) : 0;
}

int cli_end(const char *program, int code)
{
    if (fflush(stdout) != 0 && errno != EPIPE) {
        fprintf(stderr, "%s: stdout: %s\n", program, strerror(errno));
        return 1;
    }
    return code;
}
