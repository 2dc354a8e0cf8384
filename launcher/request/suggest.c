#include <config.h>

#include <launcher/request/suggest.h>

#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64, DISTANCE_MAX = 2, NAME_MAX_BYTES = 40 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

size_t suggest_distance(const char *a, size_t a_size, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t b_size = strlen(b);
    if (a_size > WORD_MAX || b_size > WORD_MAX || a_size > b_size + DISTANCE_MAX ||
        b_size > a_size + DISTANCE_MAX) {
        return SUGGEST_NEVER;
    }
    for (size_t j = 0; j <= b_size; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smallest(changed, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[b_size] <= DISTANCE_MAX ? row[b_size] : SUGGEST_NEVER;
}

/* Other launchers' options, each between bars, and what to do here. */
static const struct {
    const char *names, *instead;
} others[] = {
    /* where */
    {"|default-hostfile|", "--hostfile FILE"},
    {"|hosts|w|nodelist|nodes|", "name the nodes with --host NAME:SLOTS,... or --hostfile FILE"},
    {"|mapby|m|distribution|loadbalance|", "--map-by HOW"},
    {"|rankby|", "--rank-by HOW"},
    {"|ppr|", "--map-by ppr:N:OBJECT"},
    {"|cpu-bind|binding|bind|", "--bind-to WHAT"},
    {"|cpus-per-task|", "--cpus-per-proc N"},
    {"|membind|mem-bind|gpus-per-proc|gpus-per-task|gpu-bind|",
     "nothing: Keel binds ranks to processors only"},
    {"|O|overcommit|", "--oversubscribe"},
    {"|p|partition|A|account|J|job-name|exclusive|mem|gres|G|gpus|",
     "keelrun runs on the nodes that salloc or sbatch has got: this is an option for them"},
    /* what */
    {"|ntasks|", "-n N"},
    {"|multi-prog|", "--app FILE, a line for each program"},
    {"|D|chdir|", "--wdir DIR"},
    {"|export|", "-x NAME=VALUE"},
    {"|envnone|genvnone|", "start keelrun itself by 'env -i'"},
    {"|path|", "-x PATH=..., or the program's whole path"},
    {"|prefix|launch-agent|", "Keel has to be installed at the same place on every node, where its "
                              "programs find each other"},
    {"|preload-binary|s|preload-files|bcast|", "programs are not copied: they have to be there"},
    {"|mpi|", "programs of Open MPI and MPICH are served unasked"},
    {"|launcher|launcher-exec|rmk|bootstrap|bootstrap-exec|",
     "--mca plm slurm, or --mca plm_rsh_agent COMMAND"},
    {"|iface|", "--mca oob_tcp_if_include NAME, and the same with btl_tcp_if_include"},
    {"|omca|gomca|pmixmca|gpmixmca|prtemca|tune|am|",
     "--mca NAME VALUE, or a line in ~/.config/keel/keel.conf"},
    /* input and output */
    {"|o|e|error|outfile-pattern|errfile-pattern|output-proctable|",
     "--output-filename DIR; --tag-output and --timestamp-output mark the lines"},
    {"|label|prepend-pattern|", "-l, or --tag-output"},
    {"|u|unbuffered|stream-buffering|",
     "what ranks write is passed on at once; 'stdbuf -oL PROGRAM' makes a program write its lines"},
    {"|i|input|", "--stdin RANK, all or none"},
    {"|display-devel-map|display-devel-allocation|", "--display map,allocation,bind,topo"},
    {"|xterm|debug|tv|debugger|", "put the debugger before the program"},
    {"|v|verbose|d|debug-devel|debug-daemons|debug-daemons-file|leave-session-attached|info|",
     "--mca log_verbose 1, or more"},
    {"|report-pid|",
     "--mca log_launcher_verbose 1 tells all pids; --report-uri the contact string"},
    {"|q|quiet|Q|", "keelrun says nothing but warnings and errors"},
    /* how it ends */
    {"|t|time|", "--timeout SECONDS"},
    {"|disable-auto-cleanup|no-kill|continuous|max-restarts|runtime-options|rtos|",
     "--enable-recovery goes on without ranks that fail"},
    {"|K|kill-on-bad-exit|disable-recovery|",
     "the first rank that fails ends the job, unless --enable-recovery is given"},
    {"|print-all-exitcodes|get-stack-traces|report-state-on-timeout|report-child-"
     "jobs-"
     "separately|disable-hostname-propagation|localhost|usize|pmi-port|demux|nameserver|",
     "nothing"},
};

const char *suggest_for_option(const char *name, size_t size)
{
    char word[NAME_MAX_BYTES + 3];
    if (size == 0 || size > NAME_MAX_BYTES || memchr(name, '|', size)) {
        return NULL;
    }
    snprintf(word, sizeof(word), "|%.*s|", (int) size, name);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (strstr(others[i].names, word)) {
            return others[i].instead;
        }
    }
    return NULL;
}
