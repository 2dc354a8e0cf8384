#include <config.h>

#include <launcher/request/options/options.h>
#include <launcher/request/options/parser.h>

const char *const option_groups[GROUPS] = {
    [GROUP_WHAT] = "What to run",
    [GROUP_WHERE] = "On which nodes",
    [GROUP_PLACE] = "Where ranks run there, and what they are bound to",
    [GROUP_SHOW] = "Where they would run",
    [GROUP_OLD] = "Words of Open MPI before 5",
    [GROUP_OUTPUT] = "Output",
    [GROUP_CONTROL] = "Control",
};

#define OBJECTS "hwthread core l1cache l2cache l3cache numa package"
#define FLAG(name) NULL, NULL, NULL, offsetof(struct run_request, name)
#define TAKES(value, apply) value, apply, NULL, 0
#define SAYS(apply, preset) NULL, apply, preset, 0

/* clang-format off: a row is a line, or two */
const struct option options[] = {
    {"n", TAKES("N", apply_count), GROUP_WHAT,
     "so many ranks (default: as many as there are free slots)", NULL},
    {"np", TAKES("N", apply_count), GROUP_WHAT, NULL, NULL},
    {"c", TAKES("N", apply_count), GROUP_WHAT, NULL, NULL},
    {"x", TAKES("NAME[=VALUE]", apply_export), GROUP_WHAT,
     "give the ranks this environment variable, with this value or keelrun's own; NAME* takes all "
     "that begin so. Repeatable",
     NULL},
    {"wdir", TAKES("DIR", apply_wdir), GROUP_WHAT, "start them in this folder", "DIR"},
    {"wd", TAKES("DIR", apply_wdir), GROUP_WHAT, NULL, "DIR"},
    {"app", TAKES("FILE", apply_app), GROUP_WHAT,
     "the programs are in a file, one a line, each with its options", "FILE"},
    {"configfile", TAKES("FILE", apply_app), GROUP_WHAT, NULL, "FILE"},
    {"genv", TAKES("NAME VALUE", apply_genv), GROUP_WHAT,
     "the same for all programs, where they have no such variable of their own", NULL},
    {"genvlist", TAKES("NAME,...", apply_genvlist), GROUP_WHAT,
     "keelrun's own values of these, for all programs", NULL},
    {"env", TAKES("NAME VALUE", apply_env), GROUP_WHAT, "-x as hydra writes it", NULL},
    {"envlist", TAKES("NAME,...", apply_envlist), GROUP_WHAT, "several of keelrun's own", NULL},
    {"genvall", SAYS(apply_nothing, ""), GROUP_WHAT, "accepted: ranks have keelrun's environment",
     NULL},
    {"envall", SAYS(apply_nothing, ""), GROUP_WHAT, NULL, NULL},
    {"noprefix", SAYS(apply_noprefix, ""), GROUP_WHAT,
     "leave the ranks' LD_LIBRARY_PATH as it is, and look for keeld where it is here", NULL},
    {"allow-run-as-root", SAYS(apply_nothing, ""), GROUP_WHAT,
     "accepted: nobody is forbidden to run as root", NULL},

    {"host", TAKES("NAME[:SLOTS],...", apply_host), GROUP_WHERE,
     "on these nodes, of each program; n[01-16] names several, +n1 the second of all", "HOST"},
    {"H", TAKES("NAME[:SLOTS],...", apply_host), GROUP_WHERE, NULL, "HOST"},
    {"hosts", TAKES("NAME[:SLOTS],...", apply_host), GROUP_WHERE, NULL, "HOST"},
    {"hostfile", TAKES("FILE", apply_hostfile), GROUP_WHERE,
     "on the nodes of a file, with lines of NAME [slots=N] [max_slots=N]; --host chooses among "
     "them",
     "FILE"},
    {"machinefile", TAKES("FILE", apply_hostfile), GROUP_WHERE, NULL, "FILE"},
    {"f", TAKES("FILE", apply_hostfile), GROUP_WHERE, NULL, "FILE"},
    {"prefix", TAKES("DIR", apply_prefix), GROUP_WHERE,
     "Keel is installed below this folder on other nodes, if it is not the same as here", NULL},
    {"launch-agent", TAKES("COMMAND", apply_launch_agent), GROUP_WHERE,
     "start keeld on other nodes by this command, which a shell there gets", NULL},
    {"dvm", TAKES("FILE", apply_dvm), GROUP_WHERE,
     "on a standing DVM, by the file that keel-dvm --uri has written; --host and --hostfile choose "
     "among its nodes",
     "FILE"},
    {"nolocal", SAYS(apply_map_by, "NOLOCAL"), GROUP_WHERE, "not on keelrun's own node", NULL},
    {"simulate", TAKES("NODESxSLOTS", apply_simulate), GROUP_WHERE,
     "on simulated nodes of this machine, each with a daemon, a name and a session folder of its "
     "own",
     NULL},
    {"simulate-topo", TAKES("TOPOLOGY", apply_simulate_topo), GROUP_WHERE,
     "of simulated nodes: hwloc's synthetic description, as in 'package:2 core:4 pu:2', or an XML "
     "file",
     "FILE"},

    {"N", TAKES("N", apply_per_node), GROUP_PLACE,
     "N ranks on each node, or with -n at most so many; of each program", NULL},
    {"npernode", TAKES("N", apply_per_node), GROUP_PLACE, NULL, NULL},
    {"ppn", TAKES("N", apply_per_node), GROUP_PLACE, NULL, NULL},
    {"perhost", TAKES("N", apply_per_node), GROUP_PLACE, NULL, NULL},
    {"ntasks-per-node", TAKES("N", apply_per_node), GROUP_PLACE, NULL, NULL},
    {"pernode", SAYS(apply_per_node, "1"), GROUP_PLACE, "one rank on each node", NULL},
    {"npersocket", TAKES("N", apply_npersocket), GROUP_PLACE,
     "N ranks on each package, and bound to it", NULL},
    {"map-by", TAKES("HOW[:WORD]...", apply_map_by), GROUP_PLACE,
     "slot, node, an object (hwthread, core, l1cache, l2cache, l3cache, numa, package), "
     "ppr:N:OBJECT, seq or rankfile:FILE=F; words are PE=N, SPAN, OVERSUBSCRIBE, NOOVERSUBSCRIBE, "
     "NOLOCAL, HWTCPUS (default: slot)",
     "slot node " OBJECTS " ppr: seq rankfile:FILE="},
    {"rank-by", TAKES("HOW", apply_rank_by), GROUP_PLACE,
     "number ranks by slot, node, fill, span, or an object, OBJECT:SPAN, OBJECT:FILL",
     "slot node fill span " OBJECTS},
    {"bind-to", TAKES("WHAT", apply_bind), GROUP_PLACE,
     "bind each rank to its hwthread, core, l1cache, l2cache, l3cache, numa, package, or none; "
     "behind it :overload-allowed, :if-supported (default: none)",
     "none " OBJECTS},
    {"rankfile", TAKES("FILE", apply_rankfile), GROUP_PLACE, "as the file says, rank by rank",
     "FILE"},
    {"rf", TAKES("FILE", apply_rankfile), GROUP_PLACE, NULL, "FILE"},
    {"cpus-per-proc", TAKES("N", apply_cpus_per_rank), GROUP_PLACE,
     "each rank is bound to N processors of its own (PE=N)", NULL},
    {"cpus-per-rank", TAKES("N", apply_cpus_per_rank), GROUP_PLACE, NULL, NULL},
    {"use-hwthread-cpus", SAYS(apply_map_by, "HWTCPUS"), GROUP_PLACE,
     "hardware threads are the processors, not cores", NULL},
    {"cpu-set", TAKES("LIST", apply_cpu_set), GROUP_PLACE,
     "only these processors of each node, as in 0-3,8", NULL},
    {"cpu-list", TAKES("LIST", apply_cpu_set), GROUP_PLACE, NULL, NULL},
    {"oversubscribe", SAYS(apply_map_by, "OVERSUBSCRIBE"), GROUP_PLACE,
     "allow more ranks than slots, without a warning; those beyond go to one node after the other",
     NULL},
    {"nooversubscribe", SAYS(apply_map_by, "NOOVERSUBSCRIBE"), GROUP_PLACE,
     "never more ranks than slots, also where nobody gave them", NULL},

    {"display", TAKES("WHAT,...", apply_display), GROUP_SHOW,
     "print the map, the allocation, what ranks are bound to (bind), or the nodes' topologies "
     "(topo)",
     "map allocation bind topo"},
    {"display-map", SAYS(apply_display, "map"), GROUP_SHOW, "the same as --display map", NULL},
    {"display-allocation", SAYS(apply_display, "allocation"), GROUP_SHOW,
     "the same as --display allocation", NULL},
    {"display-topo", SAYS(apply_display, "topo"), GROUP_SHOW, "the same as --display topo", NULL},
    {"report-bindings", FLAG(report_bindings), GROUP_SHOW,
     "print on stderr where each rank is bound", NULL},
    {"dry-run", FLAG(dry_run), GROUP_SHOW, "start no rank; without --display the map is printed",
     NULL},
    {"do-not-launch", FLAG(dry_run), GROUP_SHOW, NULL, NULL},
    {"json", FLAG(json), GROUP_SHOW, "what is displayed comes as JSON", NULL},

    {"byslot", SAYS(apply_map_by, "slot"), GROUP_OLD, "--map-by slot", NULL},
    {"bynode", SAYS(apply_map_by, "node"), GROUP_OLD, "--map-by node", NULL},
    {"bycore", SAYS(apply_map_by, "core"), GROUP_OLD, "--map-by core", NULL},
    {"bysocket", SAYS(apply_map_by, "package"), GROUP_OLD, "--map-by package", NULL},
    {"ppr", TAKES("N:OBJECT", apply_ppr), GROUP_OLD, "--map-by ppr:N:OBJECT", NULL},
    {"bind-to-core", SAYS(apply_bind, "core"), GROUP_OLD, "--bind-to core", NULL},
    {"bind-to-socket", SAYS(apply_bind, "package"), GROUP_OLD, "--bind-to package", NULL},
    {"bind-to-none", SAYS(apply_bind, "none"), GROUP_OLD, "--bind-to none", NULL},

    {"stdin", TAKES("RANK", apply_stdin), GROUP_OUTPUT,
     "this rank gets keelrun's standard input (default: 0), or all, or none", "all none"},
    {"merge-stderr-to-stdout", FLAG(merge_stderr), GROUP_OUTPUT, "ranks' stderr is their stdout",
     NULL},
    {"tag-output", SAYS(apply_output, "tag"), GROUP_OUTPUT,
     "begin each line with [job,rank]<stdout>:", NULL},
    {"l", SAYS(apply_output, "rank"), GROUP_OUTPUT, "begin each line with [rank]", NULL},
    {"prepend-rank", SAYS(apply_output, "rank"), GROUP_OUTPUT, NULL, NULL},
    {"timestamp-output", SAYS(apply_output, "timestamp"), GROUP_OUTPUT,
     "begin each line with the time", NULL},
    {"output-filename", TAKES("DIR[:WORD]", apply_output_dir), GROUP_OUTPUT,
     "write to DIR/JOB/rank.RANK/stdout and stderr as well, or with :nocopy alone; :nojobid leaves "
     "out JOB",
     "DIR"},
    {"output", TAKES("WORD,...", apply_output), GROUP_OUTPUT,
     "these as one: tag, tag-detailed, tag-fullname, rank, timestamp, raw, "
     "merge-stderr-to-stdout, dir=DIR, file=NAME (NAME.RANK.stdout), or file=NAME:pattern with %r, "
     "%h, %j, %n",
     "tag tag-detailed tag-fullname rank timestamp raw merge-stderr-to-stdout dir= file="},
    {"output-ranks", TAKES("LIST", apply_output_ranks), GROUP_OUTPUT,
     "show the output of these ranks alone, as in 0,4-7", NULL},
    {"pty", SAYS(apply_pty, "always"), GROUP_OUTPUT,
     "give the ranks a terminal as stdout, so that they show each line at once (default: if "
     "keelrun's is one)",
     NULL},
    {"no-pty", SAYS(apply_pty, "never"), GROUP_OUTPUT, "give them none", NULL},

    {"report", TAKES("json[:FILE]", apply_report), GROUP_CONTROL,
     "tell what happens, with times, one JSON object a line, in a file or on stderr "
     "(docs/report.md)",
     "json json:"},
    {"report-uri", TAKES("FILE", apply_report_uri), GROUP_CONTROL,
     "write keelrun's contact string, for tools, to a file, which is removed at the end; - is "
     "stdout, + stderr",
     "FILE"},
    {"timeout", TAKES("SECONDS", apply_timeout), GROUP_CONTROL,
     "end the job after this time, with exit code 124, and say what its ranks were doing", NULL},
    {"report-state-on-timeout", SAYS(apply_nothing, ""), GROUP_CONTROL,
     "accepted: --timeout always does", NULL},
    {"get-stack-traces", SAYS(apply_nothing, ""), GROUP_CONTROL,
     "accepted: --timeout always tells the ranks' stacks, where there is gdb or eu-stack", NULL},
    {"stack-traces", SAYS(apply_param, "stack_traces=1"), GROUP_CONTROL,
     "a rank that crashes stops, and its stack is told, where there is gdb or eu-stack", NULL},
    {"enable-recovery", SAYS(apply_param, "enable_recovery=1"), GROUP_CONTROL,
     "go on without ranks that fail and nodes that are lost", NULL},
    {"mca", TAKES("NAME VALUE", apply_mca), GROUP_CONTROL,
     "set a parameter for keelrun and for every rank (keelrun(1) and docs/parameters.md list the "
     "parameters)",
     NULL},
    {"gmca", TAKES("NAME VALUE", apply_mca), GROUP_CONTROL, NULL, NULL},
    {"parameters", SAYS(apply_parameters, ""), GROUP_CONTROL,
     "print all parameters of keelrun for a program, one a line, its fields separated by tabs; "
     "keel-info shows them to people",
     NULL},
    {"completion", TAKES("SHELL", apply_completion), GROUP_CONTROL,
     "print what completes this command line in a shell, which is bash", "bash"},
    {"help", SAYS(apply_help, ""), GROUP_CONTROL, "print this text", NULL},
    {"h", SAYS(apply_help, ""), GROUP_CONTROL, NULL, NULL},
    {"version", SAYS(apply_version, ""), GROUP_CONTROL, "print the version", NULL},
    {"V", SAYS(apply_version, ""), GROUP_CONTROL, NULL, NULL},
};
/* clang-format on */
const size_t option_count = sizeof(options) / sizeof(*options);
