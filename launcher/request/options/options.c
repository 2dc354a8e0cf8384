#include <config.h>

#include <launcher/request/options/help.h>
#include <launcher/request/options/options.h>
#include <launcher/request/options/parser.h>
#include <launcher/request/rankfile.h>
#include <string.h>

enum { TIMEOUT_MAX_S = 365 * 24 * 3600, CPUS_MAX = 1 << 16 };

const char *const option_groups[GROUPS] = {
    [GROUP_WHAT] = "What to run",
    [GROUP_WHERE] = "On which nodes",
    [GROUP_PLACE] = "Where ranks run there, and what they are bound to",
    [GROUP_SHOW] = "Where they would run",
    [GROUP_OLD] = "Words of Open MPI before 5",
    [GROUP_OUTPUT] = "Output",
    [GROUP_CONTROL] = "Control",
};

/* what is set */
#define REQUEST(member) .base = BASE_REQUEST, .offset = offsetof(struct run_request, member)
#define APP(member) .base = BASE_APP, .offset = offsetof(struct app_request, member)
#define PARSER(member) .base = BASE_PARSER, .offset = offsetof(struct parser, member)
/* how */
#define TAKES(shown, fn) .value = shown, .apply = fn
#define SAYS(fn, preset) .apply = fn, .text = preset
#define FLAG(member) .apply = apply_flag, REQUEST(member)
#define CHOICE(member, choice) .apply = apply_choice, REQUEST(member), .number = choice
#define NUMBER(shown, max) TAKES(shown, apply_number), .number = max
#define TEXT(shown, needed) TAKES(shown, apply_text), .text = needed
#define PLACE(shown, fn) TAKES(shown, apply_place), .place = fn
#define PRINTS(fn) .apply = apply_print, .print = fn
#define ACCEPTED .apply = NULL

/* clang-format off */
const struct option options[] = {
    {{"n", "np", "c"}, GROUP_WHAT, "so many ranks (default: as many as there are free slots)",
     NUMBER("N", RANKS_MAX), APP(count)},
    {{"x"}, GROUP_WHAT,
     "give the ranks this environment variable, with this value or keelrun's own; NAME* takes all "
     "that begin so. Repeatable", TAKES("NAME[=VALUE]", apply_export), APP(env)},
    {{"wdir", "wd"}, GROUP_WHAT, "start them in this folder", TEXT("DIR", "a folder"), APP(wdir)},
    {{"app", "configfile"}, GROUP_WHAT,
     "the programs are in a file, one a line, each with its options", TAKES("FILE", apply_app)},
    {{"genv"}, GROUP_WHAT,
     "the same for all programs, where they have no such variable of their own",
     TAKES("NAME VALUE", apply_env), PARSER(genv)},
    {{"genvlist"}, GROUP_WHAT, "keelrun's own values of these, for all programs",
     TAKES("NAME,...", apply_envlist), PARSER(genv)},
    {{"env"}, GROUP_WHAT, "-x as hydra writes it", TAKES("NAME VALUE", apply_env), APP(env)},
    {{"envlist"}, GROUP_WHAT, "several of keelrun's own",
     TAKES("NAME,...", apply_envlist), APP(env)},
    {{"genvall", "envall"}, GROUP_WHAT, "accepted: ranks have keelrun's environment", ACCEPTED},
    {{"noprefix"}, GROUP_WHAT,
     "leave the ranks' LD_LIBRARY_PATH as it is, and look for keeld where it is here",
     SAYS(apply_noprefix, ""), .param = "plm_prefix"},
    {{"allow-run-as-root"}, GROUP_WHAT, "accepted: nobody is forbidden to run as root", ACCEPTED},

    {{"host", "H", "hosts"}, GROUP_WHERE,
     "on these nodes, of each program; n[01-16] names several, +n1 the second of all",
     TAKES("NAME[:SLOTS],...", apply_host), .words = "HOST"},
    {{"hostfile", "machinefile", "f"}, GROUP_WHERE,
     "on the nodes of a file, with lines of NAME [slots=N] [max_slots=N]; --host chooses among "
     "them", TAKES("FILE", apply_hostfile)},
    {{"prefix"}, GROUP_WHERE,
     "Keel is installed below this folder on other nodes, if it is not the same as here",
     TAKES("DIR", apply_prefix), .param = "plm_prefix"},
    {{"launch-agent"}, GROUP_WHERE,
     "start keeld on other nodes by this command, which a shell there gets",
     TAKES("COMMAND", apply_launch_agent), .param = "plm_launch_agent"},
    {{"dvm"}, GROUP_WHERE,
     "on a standing DVM, by the file that keel-dvm --uri has written; --host and --hostfile "
     "choose among its nodes", TEXT("FILE", "a file"), REQUEST(dvm)},
    {{"nolocal"}, GROUP_WHERE, "not on keelrun's own node", SAYS(apply_map_by, "NOLOCAL")},
    {{"simulate"}, GROUP_WHERE,
     "on simulated nodes of this machine, each with a daemon, a name and a session folder of its "
     "own", TAKES("NODESxSLOTS", apply_simulate)},
    {{"simulate-topo"}, GROUP_WHERE,
     "of simulated nodes: hwloc's synthetic description, as in 'package:2 core:4 pu:2', or an XML "
     "file",
     TAKES("TOPOLOGY", apply_simulate_topo), REQUEST(simulate_topo),
     .text = "a description or a file", .words = "FILE"},

    {{"N", "npernode", "ppn", "perhost", "ntasks-per-node"}, GROUP_PLACE,
     "N ranks on each node, or with -n at most so many; of each program",
     NUMBER("N", RANKS_MAX), APP(per_node)},
    {{"pernode"}, GROUP_PLACE, "one rank on each node",
     SAYS(apply_number, "1"), APP(per_node), .number = RANKS_MAX},
    {{"npersocket"}, GROUP_PLACE, "N ranks on each package, and bound to it",
     TAKES("N", apply_npersocket), .number = RANKS_MAX},
    {{"map-by"}, GROUP_PLACE,
     "slot, node, an object (hwthread, core, l1cache, l2cache, l3cache, numa, package), "
     "ppr:N:OBJECT, seq or rankfile:FILE=F; words are PE=N, SPAN, OVERSUBSCRIBE, NOOVERSUBSCRIBE, "
     "NOLOCAL, HWTCPUS (default: slot)", TAKES("HOW[:WORD]...", apply_map_by),
     .offer = placement_offer_map},
    {{"rank-by"}, GROUP_PLACE,
     "number ranks by slot, node, fill, span, or an object, OBJECT:SPAN, OBJECT:FILL",
     PLACE("HOW", placement_rank_by), .offer = placement_offer_rank},
    {{"bind-to"}, GROUP_PLACE,
     "bind each rank to its hwthread, core, l1cache, l2cache, l3cache, numa, package, or none; "
     "behind it :overload-allowed, :if-supported (default: none)",
     PLACE("WHAT", placement_bind_to), .offer = placement_offer_bind},
    {{"rankfile", "rf"}, GROUP_PLACE, "as the file says, rank by rank",
     TAKES("FILE", apply_rankfile), .place = rankfile_read},
    {{"cpus-per-proc", "cpus-per-rank"}, GROUP_PLACE,
     "each rank is bound to N processors of its own (PE=N)",
     NUMBER("N", CPUS_MAX), REQUEST(placement.cpus_per_rank)},
    {{"use-hwthread-cpus"}, GROUP_PLACE, "hardware threads are the processors, not cores",
     SAYS(apply_map_by, "HWTCPUS")},
    {{"cpu-set", "cpu-list"}, GROUP_PLACE, "only these processors of each node, as in 0-3,8",
     PLACE("LIST", placement_cpu_set)},
    {{"oversubscribe"}, GROUP_PLACE,
     "allow more ranks than slots, without a warning; those beyond go to one node after the other",
     SAYS(apply_map_by, "OVERSUBSCRIBE")},
    {{"nooversubscribe"}, GROUP_PLACE, "never more ranks than slots, also where nobody gave them",
     SAYS(apply_map_by, "NOOVERSUBSCRIBE")},

    {{"display"}, GROUP_SHOW,
     "print the map, the allocation, what ranks are bound to (bind), or the nodes' topologies "
     "(topo)", TAKES("WHAT,...", apply_display), .words = "map allocation bind topo"},
    {{"display-map"}, GROUP_SHOW, "the same as --display map", SAYS(apply_display, "map")},
    {{"display-allocation"}, GROUP_SHOW, "the same as --display allocation",
     SAYS(apply_display, "allocation")},
    {{"display-topo"}, GROUP_SHOW, "the same as --display topo", SAYS(apply_display, "topo")},
    {{"report-bindings"}, GROUP_SHOW, "print on stderr where each rank is bound",
     FLAG(report_bindings)},
    {{"dry-run", "do-not-launch"}, GROUP_SHOW,
     "start no rank; without --display the map is printed", FLAG(dry_run)},
    {{"json"}, GROUP_SHOW, "what is displayed comes as JSON", FLAG(json)},

    {{"byslot"}, GROUP_OLD, "--map-by slot", SAYS(apply_map_by, "slot")},
    {{"bynode"}, GROUP_OLD, "--map-by node", SAYS(apply_map_by, "node")},
    {{"bycore"}, GROUP_OLD, "--map-by core", SAYS(apply_map_by, "core")},
    {{"bysocket"}, GROUP_OLD, "--map-by package", SAYS(apply_map_by, "package")},
    {{"ppr"}, GROUP_OLD, "--map-by ppr:N:OBJECT", TAKES("N:OBJECT", apply_ppr)},
    {{"bind-to-core"}, GROUP_OLD, "--bind-to core",
     SAYS(apply_place, "core"), .place = placement_bind_to},
    {{"bind-to-socket"}, GROUP_OLD, "--bind-to package",
     SAYS(apply_place, "package"), .place = placement_bind_to},
    {{"bind-to-none"}, GROUP_OLD, "--bind-to none",
     SAYS(apply_place, "none"), .place = placement_bind_to},

    {{"stdin"}, GROUP_OUTPUT,
     "this rank gets keelrun's standard input (default: 0), or all, or none",
     TAKES("RANK", apply_stdin), .words = "all none"},
    {{"merge-stderr-to-stdout"}, GROUP_OUTPUT, "ranks' stderr is their stdout", FLAG(merge_stderr)},
    {{"tag-output"}, GROUP_OUTPUT, "begin each line with [job,rank]<stdout>:",
     SAYS(apply_output, "tag")},
    {{"l", "prepend-rank"}, GROUP_OUTPUT, "begin each line with [rank]",
     SAYS(apply_output, "rank")},
    {{"timestamp-output"}, GROUP_OUTPUT, "begin each line with the time",
     SAYS(apply_output, "timestamp")},
    {{"output-filename"}, GROUP_OUTPUT,
     "write to DIR/JOB/rank.RANK/stdout and stderr as well, or with :nocopy alone; :nojobid "
     "leaves out JOB", TAKES("DIR[:WORD]", apply_output_dir), .words = "DIR"},
    {{"output"}, GROUP_OUTPUT,
     "these as one: tag, tag-detailed, tag-fullname, rank, timestamp, raw, "
     "merge-stderr-to-stdout, dir=DIR, file=NAME (NAME.RANK.stdout), or file=NAME:pattern with %r, "
     "%h, %j, %n", TAKES("WORD,...", apply_output),
     .words = "tag tag-detailed tag-fullname rank timestamp raw merge-stderr-to-stdout dir= file="},
    {{"output-ranks"}, GROUP_OUTPUT, "show the output of these ranks alone, as in 0,4-7",
     TAKES("LIST", apply_output_ranks), REQUEST(output.ranks), .text = "a list"},
    {{"pty"}, GROUP_OUTPUT,
     "give the ranks a terminal as stdout, so that they show each line at once (default: if "
     "keelrun's is one)", CHOICE(pty, PTY_ALWAYS)},
    {{"no-pty"}, GROUP_OUTPUT, "give them none", CHOICE(pty, PTY_NEVER)},

    {{"report"}, GROUP_CONTROL,
     "tell what happens, with times, one JSON object a line, in a file or on stderr "
     "(docs/report.md)",
     TAKES("json[:FILE]", apply_report), REQUEST(report_file), .text = "a file behind json:",
     .words = "json json:"},
    {{"report-uri"}, GROUP_CONTROL,
     "write keelrun's contact string, for tools, to a file, which is removed at the end; - is "
     "stdout, + stderr", TEXT("FILE", "a file, - or +"), REQUEST(uri_file)},
    {{"timeout"}, GROUP_CONTROL,
     "end the job after this time, with exit code 124, and say what its ranks were doing",
     NUMBER("SECONDS", TIMEOUT_MAX_S), REQUEST(timeout_s)},
    {{"report-state-on-timeout"}, GROUP_CONTROL, "accepted: --timeout always does", ACCEPTED},
    {{"get-stack-traces"}, GROUP_CONTROL,
     "accepted: --timeout always tells the ranks' stacks, where there is gdb or eu-stack",
     ACCEPTED},
    {{"stack-traces"}, GROUP_CONTROL,
     "a rank that crashes stops, and its stack is told, where there is gdb or eu-stack",
     SAYS(apply_param, "1"), .param = "stack_traces"},
    {{"enable-recovery"}, GROUP_CONTROL, "go on without ranks that fail and nodes that are lost",
     SAYS(apply_param, "1"), .param = "enable_recovery"},
    {{"mca", "gmca"}, GROUP_CONTROL,
     "set a parameter for keelrun and for every rank (keelrun(1) and docs/parameters.md list the "
     "parameters)", TAKES("NAME VALUE", apply_mca)},
    {{"parameters"}, GROUP_CONTROL,
     "print all parameters of keelrun for a program, one a line, its fields separated by tabs; "
     "keel-info shows them to people", PRINTS(parameters_print)},
    {{"completion"}, GROUP_CONTROL,
     "print what completes this command line in a shell, which is bash",
     TAKES("SHELL", apply_completion), .print = completion_print, .words = "bash"},
    {{"help", "h"}, GROUP_CONTROL, "print this text", PRINTS(help_print)},
    {{"version", "V"}, GROUP_CONTROL, "print the version", PRINTS(version_print)},
};
/* clang-format on */
const size_t option_count = sizeof(options) / sizeof(*options);

const struct option *option_find(const char *name, size_t size)
{
    for (size_t i = 0; i < option_count; i++) {
        for (const char *const *own = options[i].names; *own; own++) {
            if (strlen(*own) == size && strncmp(*own, name, size) == 0) {
                return &options[i];
            }
        }
    }
    return NULL;
}
