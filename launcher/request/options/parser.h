/* A command line that is being read: what the files of the parser share. */
#ifndef LAUNCHER_REQUEST_OPTIONS_PARSER_H
#define LAUNCHER_REQUEST_OPTIONS_PARSER_H

#include <launcher/request/options/app_file.h>
#include <launcher/request/options/options.h>
#include <launcher/request/run_request.h>

struct parser {
    struct run_request *request;
    struct app_request *app; /* the one whose options are being read; borrowed */
    size_t apps_size;        /* bytes that the request's programs have room in */
    char **argv;             /* what is left */
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
bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *number);
bool number_option(struct parser *parser, const char *option, const char *text, uint32_t max,
                   uint32_t *number);
/* needed: what must not be empty. */
bool set_text(struct parser *parser, const char *option, const char *needed, const char *text,
              char **to);
/* What parameters say where options do not: map_by, rank_by, bind_to, hostfile, oversubscribe. */
bool defaults_apply(struct parser *parser);

typedef bool apply_fn(struct parser *parser, const char *option, char **values);
apply_fn apply_app, apply_bind, apply_completion, apply_count, apply_cpu_set, apply_cpus_per_rank,
    apply_display, apply_dvm, apply_env, apply_envlist, apply_export, apply_genv, apply_genvlist,
    apply_help, apply_host, apply_hostfile, apply_launch_agent, apply_map_by, apply_mca,
    apply_noprefix, apply_nothing, apply_npersocket, apply_output, apply_output_dir,
    apply_output_ranks, apply_param, apply_parameters, apply_per_node, apply_ppr, apply_prefix,
    apply_pty, apply_rank_by, apply_rankfile, apply_report, apply_report_uri, apply_simulate,
    apply_simulate_topo, apply_stdin, apply_timeout, apply_version, apply_wdir;

#endif
