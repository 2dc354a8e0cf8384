/* The command line of a tool. Its options are rows of a table, by which it is read, --help is
 * printed and bash completes; --completion bash, --help and --version are everybody's. */
#ifndef TOOLS_CLI_H
#define TOOLS_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cli;
/* Takes an option's value. False: it does not fit, or cli_wrong has said what is wrong. */
typedef bool cli_take_fn(struct cli *cli, const char *value);

struct cli_option {
    const char *name;
    const char *value; /* as --help shows it; NULL: it takes none; "[...]": cli_next has it */
    const char *help;  /* may have several lines; NULL: neither shown nor completed */
    cli_take_fn *take;
    size_t offset;      /* of the member that is set */
    double least, most; /* of a number; both 0: any */
    char letter;        /* 0: it has no short name */
};

struct cli {
    const char *program;
    const char *usage;                /* --help: what stands before the options */
    const struct cli_option *options; /* all pointers are borrowed */
    size_t count;
    void *members;      /* the struct that options set members of */
    void (*more)(void); /* --help: prints what stands behind the options; NULL: nothing */
    bool quiet;         /* prints nothing, complaints neither */
    /* while it is read */
    const struct cli_option *row;
    const char *value; /* the last one; NULL: none */
    char **next;       /* the words behind */
    bool said;         /* cli_wrong has complained */
};

/* Returns 0; 1 when --help, --version or --completion was asked for and printed; -1 after a
 * complaint on stderr. */
int cli_read(struct cli *cli, int argc, char **argv);
/* Text from elsewhere, which is to reach a terminal as nothing else: control characters become "?".
 */
void cli_print(FILE *out, const char *text);
/* Complains: what is followed by value. Returns -1. */
int cli_wrong(struct cli *cli, const char *what, const char *value);
/* The word behind the option and its value, unless that is an option too: it is taken. NULL: there
 * is none. */
const char *cli_next(struct cli *cli);
/* What the row's offset says. */
void *cli_member(const struct cli *cli);
/* The program's exit code: 1, with a complaint, when standard output could not be written. */
int cli_end(const char *program, int code);

/* They set a bool, a const char * (not to an empty one), an unsigned, a double. */
cli_take_fn cli_flag, cli_text, cli_count, cli_real;

#endif
