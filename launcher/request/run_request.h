/* What the user asked keelrun for: the command line as a struct. */
#ifndef LAUNCHER_REQUEST_RUN_REQUEST_H
#define LAUNCHER_REQUEST_RUN_REQUEST_H

#include <base/host/pty.h>
#include <keel/types.h>

/* Exit codes of keelrun; otherwise the first failing rank's, or 128 + its signal. */
enum {
    EXIT_USAGE = 2,
    EXIT_TIMEOUT = 124,
    EXIT_RUNTIME = 125, /* daemon lost, ssh, no node */
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_INTERRUPTED = 130,
};

struct app_request {
    uint32_t count; /* -n; 0: as many as there are free slots */
    char **argv;    /* owned, NULL-ended, at least the program */
    char **env;     /* owned, NULL-ended: -x NAME or NAME=VALUE, resolved to NAME=VALUE */
    char *wdir;     /* owned; NULL: keelrun's */
};

enum bind_policy { BIND_NONE, BIND_CORE };
/* Do ranks get a pty for their standard output? AUTO: if keelrun's is a terminal. */
enum pty_choice { PTY_AUTO, PTY_ALWAYS, PTY_NEVER };

struct node_request {
    char *name;     /* owned */
    uint32_t slots; /* 0: not given */
};

struct run_request {
    struct app_request *apps; /* owned */
    size_t app_count;
    struct node_request *nodes; /* --host, owned; none: this node alone */
    size_t node_count;
    uint32_t simulate_nodes, simulate_slots; /* --simulate NODESxSLOTS; 0: not asked for */
    enum bind_policy bind;
    enum pty_choice pty;
    struct window window; /* of ptys */
    bool oversubscribe, tag_output, timestamp_output, report_bindings;
    uint32_t timeout_s; /* 0: none */
    char *output_dir;   /* --output-filename; owned; NULL: none */
    char *uri_file;     /* --report-uri; owned: a file, "-" or "+"; NULL: not asked for */
};

enum cmdline_result { CMDLINE_RUN, CMDLINE_DONE /* --help, --version: printed */, CMDLINE_ERROR };

/* Parses keelrun's arguments; --mca values go to param_override and, as KEEL_MCA_NAME and
 * OMPI_MCA_NAME, into every app's environment. An error's text names the argument, and what would
 * be right. */
enum cmdline_result cmdline_parse(struct run_request *request, int argc, char **argv, char *reason,
                                  size_t reason_size);
void run_request_fini(struct run_request *request);

#endif
