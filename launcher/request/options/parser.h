/* A command line that is being read: what the files of the parser share. */
#ifndef LAUNCHER_REQUEST_OPTIONS_PARSER_H
#define LAUNCHER_REQUEST_OPTIONS_PARSER_H

#include <launcher/request/options/app_file.h>
#include <launcher/request/options/options.h>
#include <launcher/request/run_request.h>

struct parser {
    struct run_request *request;
    struct app_request *app;  /* the one whose options are being read; borrowed */
    size_t apps_size;         /* bytes that the request's programs have room in */
    char **argv;              /* what is left */
    const struct option *row; /* the option that is being read */
    char option[64];          /* the same, as it was written, without its value */
    const char *second;       /* of two values; borrowed */
    char *reason;
    size_t reason_size;
    char **genv;          /* owned, NULL-ended: NAME=VALUE for all programs */
    char **params;        /* owned, NULL-ended: NAME=VALUE of --mca */
    char **hostfiles;     /* owned, NULL-ended: their texts, in order */
    struct app_file file; /* of --app, from which argv comes then */
    char mapped[64];      /* the option that names a policy of mapping; "": none does */
    bool done;            /* --help or --version */
};

/* Sets the reason. False, always. */
bool parser_wrong(struct parser *parser, const char *format, ...) KEEL_PRINTF(2, 3);
bool parser_no_memory(struct parser *parser);
/* Sets PREFIXNAME=VALUE in an environment; name need not end. */
bool env_set(char ***env, const char *prefix, const char *name, size_t name_size,
             const char *value);
/* From 1 to the row's. */
bool number_option(struct parser *parser, const char *value, uint32_t *number);
/* What an option does with its value. shown: what messages call it, as "--np". */
bool option_apply(struct parser *parser, const struct option *row, const char *shown,
                  const char *value);
/* What parameters say where options do not: map_by, rank_by, bind_to, hostfile, oversubscribe. */
bool defaults_apply(struct parser *parser);

/* Of struct option. */
typedef bool apply_fn(struct parser *parser, const char *value);
apply_fn apply_app, apply_choice, apply_completion, apply_display, apply_env, apply_envlist,
    apply_export, apply_flag, apply_host, apply_hostfile, apply_launch_agent, apply_map_by,
    apply_mca, apply_noprefix, apply_npersocket, apply_number, apply_output, apply_output_dir,
    apply_output_ranks, apply_param, apply_place, apply_ppr, apply_prefix, apply_print,
    apply_rankfile, apply_report, apply_simulate, apply_simulate_topo, apply_stdin, apply_text;

#endif
