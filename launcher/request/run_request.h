/* What the user asked keelrun for: the command line as a struct. */
#ifndef LAUNCHER_REQUEST_RUN_REQUEST_H
#define LAUNCHER_REQUEST_RUN_REQUEST_H

#include <base/host/pty.h>
#include <keel/types.h>
#include <launcher/request/nodes/node_list.h>
#include <launcher/request/output_request.h>
#include <launcher/request/placement.h>

/* Exit codes of keelrun; otherwise the first failing rank's, or 128 + its signal. */
enum {
    EXIT_USAGE = 2,
    EXIT_TIMEOUT = 124,
    EXIT_RUNTIME = 125, /* daemon lost, ssh, no node */
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_INTERRUPTED = 130,
};

enum { APPS_MAX = 4096 }; /* programs of a command line */

struct app_request {
    uint32_t count;         /* -n; 0: as many as there are free slots */
    char **argv;            /* owned, NULL-ended, at least the program */
    char **env;             /* owned, NULL-ended: -x NAME or NAME=VALUE, resolved to NAME=VALUE */
    char *wdir;             /* owned; NULL: keelrun's */
    struct node_list hosts; /* --host of this program; none: all nodes */
    uint32_t per_node;      /* -N: at most so many of its ranks on a node; 0: not given */
};

/* What --display shows, as bits. */
enum display {
    DISPLAY_MAP = 1,
    DISPLAY_ALLOCATION = 2,
    DISPLAY_BIND = 4, /* --report-bindings */
    DISPLAY_TOPO = 8,
};

/* Which ranks get keelrun's standard input. */
enum input_choice { INPUT_RANK, INPUT_ALL, INPUT_NONE };

/* Do ranks get a pty for their standard output? AUTO: if keelrun's is a terminal. */
enum pty_choice { PTY_AUTO, PTY_ALWAYS, PTY_NEVER };

struct run_request {
    struct app_request *apps; /* owned */
    size_t app_count;
    struct node_list hosts;    /* --host */
    struct node_list hostfile; /* of all hostfiles; neither this nor hosts: this node alone */
    char *hostfile_name;       /* owned: their names, for messages; NULL: there is none */
    uint32_t simulate_nodes, simulate_slots; /* --simulate NODESxSLOTS; 0: not asked for */
    struct placement placement;
    uint32_t display;      /* bits of enum display */
    bool json;             /* what is displayed comes as JSON */
    bool report;           /* what happens is told ... */
    char *report_file;     /* owned: ... to this file; NULL: on standard error (--report) */
    bool dry_run;          /* no rank is started */
    char *simulate_topo;   /* owned: the topology of simulated nodes, hwloc's synthetic description
                            * or an XML file; NULL: this machine's */
    bool no_oversubscribe; /* never more ranks than slots, also where slots were counted */
    enum input_choice input;
    uint32_t input_rank; /* of INPUT_RANK */
    bool merge_stderr;   /* what ranks write to stderr goes where stdout does */
    enum pty_choice pty;
    struct window window; /* of ptys */
    bool oversubscribe, report_bindings;
    struct output_request output;
    uint32_t timeout_s; /* 0: none */
    bool stand;         /* no program is to run: the daemons are to stand, for jobs of others */
    char *dvm;          /* --dvm; owned: the URI file of a DVM; NULL: the job has its own daemons */
    char *uri_file;     /* --report-uri; owned: a file, "-" or "+"; NULL: not asked for */
};

enum cmdline_result { CMDLINE_RUN, CMDLINE_DONE /* --help, --version: printed */, CMDLINE_ERROR };

/* By rank, RANKS_MAX of them: is it in this list? malloc'd; NULL: it is none, or no memory. */
bool *ranks_parse(const char *list);

/* Parses keelrun's arguments; --mca values go to param_override and, as KEEL_MCA_NAME and
 * OMPI_MCA_NAME, into every app's environment. An error's text names the argument, and what would
 * be right. */
enum cmdline_result cmdline_parse(struct run_request *request, int argc, char **argv, char *reason,
                                  size_t reason_size);
void run_request_fini(struct run_request *request);

#endif
