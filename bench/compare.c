/* The data plane beside its peers: keel-perf, UCX, MPI over the same wires, and programs without
 * any library, over sizes. Rounds in which each takes its turn, in changing order, so that whatever
 * else the machine does hits all alike. */
#include <config.h>

#include <bench/compare_tables.h>
#include <bench/machine.h>
#include <bench/rounds.h>
#include <bench/run.h>
#include <bench/series.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tools/cli.h>
#include <unistd.h>

enum { ARGS_MAX = 32, FIRST_PORT = 23000 };

/* What the rounds found of one probe at one size. */
struct cell {
    struct series figures, cpu; /* in the metric's unit; ns a byte */
    struct series by_round;     /* figures in their order; 0: none */
    struct machine_noise noise;
};

struct bench {
    char programs[PATH_MAX]; /* the folder of this program */
    const char *sources;     /* that of ucx-pair and fabric-pair */
    struct rounds rounds;
    const char *only; /* a part of a metric's name; NULL: all */
    bool quick;       /* only sizes of gates */
    unsigned each;    /* rounds of gates' sizes, and after them of the others */
    double seconds;   /* of one measurement */
    unsigned minutes; /* after which no run begins */
    time_t deadline;
    bool stopped; /* by it */
    bool missing[SOURCES];
    struct cell cells[PROBES][SIZES];
    unsigned port;
};

/* --- runs --- */

/* Words of a text, as further arguments; the text is cut up. */
static size_t add_words(const char **argv, size_t count, char *text)
{
    for (char *word; (word = strsep(&text, " ")) && count < ARGS_MAX - 1;) {
        if (*word) {
            argv[count++] = word;
        }
    }
    return count;
}

/* As many as take the seconds at 4 GB/s. */
static unsigned ucx_count(const struct bench *bench, const struct probe *probe, size_t bytes)
{
    double count = bench->seconds * 4e9 / (double) bytes;
    return count < 10 ? 10 : count > probe->count ? probe->count : (unsigned) count;
}

struct command {
    char path[PATH_MAX + 32], program[PATH_MAX + 32]; /* the second: what a launcher starts */
    char words[320];
};

static void compose(struct bench *bench, const struct probe *probe, size_t bytes,
                    struct command *command)
{
    const char *programs = bench->programs;
    char *path = command->path, *program = command->program, *words = command->words;
    size_t room = sizeof(command->path), words_room = sizeof(command->words);
    const char *options = probe->options ? probe->options : "-n 2";
    unsigned port = FIRST_PORT + bench->port++ % 1000;
    switch (probe->source) {
    case FROM_KEEL:
        snprintf(path, room, "%s/../bin/keelrun", programs);
        snprintf(program, room, "%s/../bin/keel-perf", programs);
        snprintf(words, words_room,
                 "%s --mca btl_tcp_if_include lo PROGRAM --json --time %g %s%s --size %zu "
                 "--test %s",
                 options, bench->seconds, probe->rail ? "--btl " : "",
                 probe->rail ? probe->rail : "", bytes, probe->what);
        break;
    case FROM_PASSES: /* more ranks than processors would yield on empty passes */
        snprintf(path, room, "%s/../bin/keelrun", programs);
        snprintf(program, room, "%s/passes", programs);
        snprintf(words, words_room,
                 "--oversubscribe %s --mca btl self,%s --mca btl_yield 0 "
                 "--mca btl_tcp_if_include lo PROGRAM %s",
                 options, probe->rail, probe->what);
        break;
    case FROM_UCX:
        snprintf(words, words_room, "%u %s -s %zu -n %u", port, probe->what, bytes,
                 ucx_count(bench, probe, bytes));
        snprintf(path, room, "%s/ucx-pair", bench->sources);
        break;
    case FROM_FABRIC:
        snprintf(words, words_room, "%u %s", port, probe->what);
        snprintf(path, room, "%s/fabric-pair", bench->sources);
        break;
    case FROM_MPI:
        snprintf(path, room, "mpirun.openmpi");
        snprintf(program, room, "%s/pingpong", programs);
        snprintf(words, words_room,
                 "%s --bind-to core -n 2 --mca pml ob1 --mca btl %s --mca btl_tcp_if_include lo "
                 "PROGRAM %zu %g %s",
                 geteuid() == 0 ? "--allow-run-as-root" : "", probe->rail, bytes, bench->seconds,
                 probe->what);
        break;
    case FROM_MPICH:
        snprintf(path, room, "mpiexec.hydra");
        snprintf(program, room, "%s/pingpong.mpich", programs);
        snprintf(words, words_room,
                 "-genv UCX_TLS all -genv UCX_NET_DEVICES all -bind-to core -n 2 PROGRAM %zu %g %s",
                 bytes, bench->seconds, probe->what);
        break;
    default:
        snprintf(path, room, "%s/%s", programs, probe->source == FROM_DGRAM ? "dgram" : "raw");
        snprintf(words, words_room, "%zu %g %s", bytes, bench->seconds, probe->what);
    }
}

static void run_probe(struct bench *bench, const struct probe *probe, size_t bytes, struct run *run)
{
    struct command command;
    const char *argv[ARGS_MAX] = {command.path};
    compose(bench, probe, bytes, &command);
    size_t count = add_words(argv, 1, command.words);
    argv[count] = NULL;
    for (size_t i = 1; i < count; i++) {
        argv[i] = strcmp(argv[i], "PROGRAM") == 0 ? command.program : argv[i];
    }
    run_command(argv, bench->rounds.limit_s * 1000, run);
}

static double number_behind(const char *text, const char *key)
{
    const char *found = strstr(text, key);
    return found ? strtod(found + strlen(key), NULL) : 0;
}

/* Of the last line of UCX's and libfabric's programs. */
static double column(const char *text, unsigned wanted)
{
    char copy[512], *rest = copy;
    snprintf(copy, sizeof(copy), "%.511s", text);
    for (char *word; (word = strsep(&rest, " \n"));) {
        if (*word && --wanted == 0) {
            return strtod(word, NULL);
        }
    }
    return 0;
}

/* The seconds of an operation, 0 when the program did not tell, and the processor time of both
 * ends, 0 likewise. */
static double read_seconds(const struct probe *probe, const char *output, double *cpu)
{
    bool mean = kinds[metrics[probe->metric].kind].mean;
    double first = 0, second = 0;
    switch (probe->source) {
    case FROM_KEEL:
        *cpu = 1e-6 * number_behind(output, "\"cpu_us\":");
        return 1e-6 * number_behind(output, mean ? "\"mean\":" : "\"median\":");
    case FROM_UCX: /* count, median, average lately, average; rates: MB/s, messages/s, likewise */
        if (strstr(probe->what, "_lat")) {
            return 1e-6 * column(output, mean ? 4 : 2);
        }
        return column(output, 8) > 0 ? 1 / column(output, 8) : 0;
    case FROM_FABRIC:
        return 1e-6 * column(output, 7);
    case FROM_PASSES:
        return 1e-9 * column(output, 1);
    default: /* median, mean, processor time */
        (void) sscanf(output, "%lf %lf %lf", &first, &second, cpu);
        return mean ? second : first;
    }
}

static double figure_of(enum kind kind, double seconds, size_t bytes)
{
    switch (kind) {
    case RATE:
        return 1e-6 / seconds;
    case STREAM:
        return 1e-6 * (double) bytes / seconds;
    case PASS:
        return 1e9 * seconds;
    default:
        return 1e6 * seconds;
    }
}

/* 0: it failed. */
static double measure(struct bench *bench, const struct probe *probe, size_t bytes,
                      struct cell *cell)
{
    struct machine_use before;
    struct run run;
    double cpu = 0, seconds = 0;
    machine_noise_spin(&cell->noise);
    machine_use_read(&before);
    run_probe(bench, probe, bytes, &run);
    machine_noise_add(&cell->noise, &before);
    if (run.end == RUN_PASSED && (seconds = read_seconds(probe, run.output, &cpu)) <= 0) {
        run.end = RUN_FAILED;
        snprintf(run.reason, sizeof(run.reason), "it printed no figure");
    }
    if (run.end != RUN_PASSED) {
        rounds_note(&bench->rounds, "%s, %s, %zu B: %.200s", probe->name,
                    metrics[probe->metric].name, bytes, run.reason);
        return 0;
    }
    if (cpu > 0) {
        series_add(&cell->cpu, 1e9 * cpu / (double) bytes);
    }
    return figure_of(metrics[probe->metric].kind, seconds, bytes);
}

static void take_turn(struct bench *bench, const struct probe *probe, size_t bytes,
                      struct cell *cell)
{
    double figure = measure(bench, probe, bytes, cell);
    series_add(&cell->by_round, figure);
    if (figure > 0) {
        series_add(&cell->figures, figure);
    }
}

static bool is_of_gate(enum metric_id metric, size_t bytes)
{
    bool found = metrics[metric].first == metrics[metric].last;
    for (unsigned i = 0; i < GATES; i++) {
        found = found || (gates[i].metric == metric && gates[i].bytes == bytes);
    }
    return found;
}

static bool is_wanted(const struct bench *bench, const struct probe *probe, size_t bytes)
{
    const struct metric *metric = &metrics[probe->metric];
    size_t first = probe->first ? probe->first : metric->first;
    size_t last = probe->last ? probe->last : metric->last;
    return bytes >= first && bytes <= last && !bench->missing[probe->source] &&
           (!bench->only || strstr(metric->name, bench->only)) &&
           (!bench->quick || is_of_gate(probe->metric, bytes));
}

/* Whether the table has anything on it. */
static bool is_shown(const struct bench *bench, enum metric_id id)
{
    bool any = false;
    for (unsigned i = 0; i < PROBES * SIZES && !any; i++) {
        any = probes[i % PROBES].metric == id &&
              is_wanted(bench, &probes[i % PROBES], sizes[i / PROBES]);
    }
    return any;
}

/* Another one begins each round, and each second round goes the other way. The sizes of gates have
 * all their rounds before any other size, for which there may be no time. */
static void run_round(void *arg, unsigned round)
{
    struct bench *bench = arg;
    for (unsigned i = 0; i < PROBES * SIZES; i++) {
        unsigned turn = round % 2 ? PROBES * SIZES - 1 - i : i;
        unsigned index = (turn + 61 * (round / 2)) % (PROBES * SIZES);
        const struct probe *probe = &probes[index % PROBES];
        size_t bytes = sizes[index / PROBES];
        if (!is_wanted(bench, probe, bytes) ||
            is_of_gate(probe->metric, bytes) != (round < bench->each)) {
            continue;
        }
        if (time(NULL) >= bench->deadline) {
            bench->stopped = true;
            return;
        }
        take_turn(bench, probe, bytes, &bench->cells[index % PROBES][index / PROBES]);
    }
}

/* --- the table --- */

/* With about four digits. */
static void print_figure(unsigned width, double figure)
{
    int digits = figure >= 1000 ? 0 : figure >= 100 ? 1 : figure >= 10 ? 2 : figure >= 1 ? 3 : 4;
    figure > 0 ? printf("%*.*f", (int) width, digits, figure) : printf("%*s", (int) width, "-");
}

static unsigned width_of(const struct probe *probe)
{
    size_t length = strlen(probe->name);
    return (unsigned) (length < 8 ? 8 : length) + 2;
}

static struct series *series_of(struct bench *bench, unsigned probe, unsigned size, bool cpu)
{
    struct cell *cell = &bench->cells[probe][size];
    return cpu ? &cell->cpu : &cell->figures;
}

/* A line for each size, a column for each probe. */
static void print_matrix(struct bench *bench, enum metric_id id, bool cpu)
{
    const struct metric *metric = &metrics[id];
    printf("\n%s%s, %s\n%11s", metric->name, cpu ? ", processor time of both ends" : "",
           cpu ? "ns/B" : kinds[metric->kind].unit, "bytes");
    for (unsigned i = 0; i < PROBES; i++) {
        if (probes[i].metric == id) {
            printf("%*s", (int) width_of(&probes[i]), probes[i].name);
        }
    }
    for (unsigned size = 0; size < SIZES; size++) {
        if (sizes[size] < metric->first || sizes[size] > metric->last ||
            (bench->quick && !is_of_gate(id, sizes[size]))) {
            continue;
        }
        printf("\n%11zu", sizes[size]);
        for (unsigned i = 0; i < PROBES; i++) {
            if (probes[i].metric == id) {
                print_figure(width_of(&probes[i]), series_median(series_of(bench, i, size, cpu)));
            }
        }
    }
    printf("\n");
}

static const char *size_text(size_t bytes, char text[32])
{
    unsigned shift = bytes >= MIB ? 20 : bytes >= KIB ? 10 : 0;
    snprintf(text, 32, "%zu %s", bytes >> shift, shift == 20 ? "MiB" : shift ? "KiB" : "B");
    return text;
}

/* The best or the worst probe of these roles with this in its name, or PROBES. */
static unsigned pick(struct bench *bench, const struct gate *gate, unsigned size, unsigned roles,
                     const char *which, bool best)
{
    bool least = kinds[metrics[gate->metric].kind].less_is_more == best;
    unsigned found = PROBES;
    double figure = 0;
    for (unsigned i = 0; i < PROBES; i++) {
        double median = series_median(&bench->cells[i][size].figures);
        if (probes[i].metric == gate->metric && probes[i].role & roles && median > 0 &&
            strstr(probes[i].name, which) &&
            (found == PROBES || (least ? median < figure : median > figure))) {
            found = i;
            figure = median;
        }
    }
    return found;
}

/* Returns whether a gate is not met. */
static bool judge(struct bench *bench, const struct gate *gate)
{
    enum kind kind = metrics[gate->metric].kind;
    unsigned size = 0;
    char bytes[32];
    while (sizes[size] != gate->bytes) {
        size++;
    }
    unsigned mine = pick(bench, gate, size, KEEL, gate->which, false);
    unsigned theirs = pick(bench, gate, size, gate->beside, "", true);
    printf("  %s  %s", gate->is_goal ? "goal" : "gate", size_text(gate->bytes, bytes));
    if (mine == PROBES || theirs == PROBES) {
        printf(": no figure of %s\n", mine == PROBES ? "Keel" : "a peer");
        return !gate->is_goal && mine == PROBES;
    }
    struct cell *ours = &bench->cells[mine][size], *others = &bench->cells[theirs][size];
    double figure = series_median(&ours->figures), other = series_median(&others->figures);
    double ratio = series_ratio(&ours->by_round, &others->by_round);
    bool less = kinds[kind].less_is_more;
    double wide = other > 0 ? 1 + gate->margin_us / other : 1;
    double bound = wide > gate->factor ? wide : gate->factor;
    bool met = ratio > 0 && (less ? ratio <= bound : ratio >= gate->factor);
    struct machine_noise noise = ours->noise;
    machine_noise_join(&noise, &others->noise);
    bool busy = machine_is_noisy(&noise);
    printf(", %s: ", probes[mine].name);
    print_figure(0, figure);
    printf(" %s, %.2f x %s, %s %.2f", kinds[kind].unit, ratio, probes[theirs].name,
           less ? "at most" : "at least", gate->factor);
    if (gate->margin_us > 0) {
        printf(" or %g us more", gate->margin_us);
    }
    printf(": %s\n", busy ? "busy" : met ? "met" : gate->is_goal ? "missed" : "MISSED");
    return !gate->is_goal && (busy || !met);
}

/* Returns how many gates were not met. */
static unsigned print_table(struct bench *bench)
{
    unsigned missed = 0;
    for (enum metric_id id = 0; id < METRICS; id++) {
        if (!is_shown(bench, id)) {
            continue;
        }
        print_matrix(bench, id, false);
        for (unsigned i = 0; i < GATES; i++) {
            missed += gates[i].metric == id && judge(bench, &gates[i]);
        }
        if (metrics[id].kind == STREAM) {
            print_matrix(bench, id, true);
        }
    }
    if (bench->stopped) {
        printf("\nstopped after %u minutes: some figures are of fewer rounds\n", bench->minutes);
    }
    rounds_print_reasons(&bench->rounds);
    return missed;
}

/* --- the program --- */

static bool take_quick(struct cli *cli, const char *value)
{
    struct bench *bench = cli->members;
    (void) value;
    bench->quick = true;
    bench->rounds.count = 1;
    bench->seconds = 0.05;
    return true;
}

#define SETS(take, member) take, .offset = offsetof(struct bench, member)

static const struct cli_option options[] = {
    {"rounds", "N", "runs of each (default 5)", SETS(cli_count, rounds.count), .least = 1,
     .most = 9999},
    {"limit", "SECONDS", "a run that takes longer is killed and counted (default 30)",
     SETS(cli_count, rounds.limit_s), .least = 1, .most = 1000000},
    {"minutes", "N", "no run begins after so many (default 60)", SETS(cli_count, minutes),
     .least = 1, .most = 9999},
    {"time", "SECONDS", "of one measurement, at least 0.01 (default 0.3)", SETS(cli_real, seconds),
     .least = 0.01, .most = 60},
    {"only", "TEXT", "only metrics with this in their names: TCP, rate, ...", SETS(cli_text, only)},
    {"quick", NULL, "one round, 0.05 s, only the sizes that gates are about", .take = take_quick},
    {"sources", "FOLDER", "where ucx-pair and fabric-pair are (default: beside this program)",
     SETS(cli_text, sources)},
};

/* Whether a program of bench/ was built. */
static bool is_built(const struct bench *bench, const char *name)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/%s", bench->programs, name);
    return access(path, X_OK) == 0;
}

static void look_for_peers(struct bench *bench)
{
    char path[PATH_MAX];
    for (enum source source = 0; source < SOURCES; source++) {
        const char *program = peers[source].program;
        if (program && !run_find(path, program)) {
            bench->missing[source] = true;
        } else if (peers[source].built && !is_built(bench, peers[source].built)) {
            bench->missing[source] = true;
            program = peers[source].built;
        }
        if (bench->missing[source]) {
            printf("skipped     %s: there is no %s%s\n", peers[source].name, program,
                   program == peers[source].built ? ", which make bench-programs builds" : "");
        }
    }
}

static void describe(struct bench *bench)
{
    char path[PATH_MAX + 32];
    machine_describe(stdout);
    snprintf(path, sizeof(path), "%s/../bin/keelrun", bench->programs);
    machine_describe_program(stdout, "keelrun", path);
    machine_describe_program(stdout, "mpirun", "mpirun.openmpi");
    look_for_peers(bench);
    rounds_describe(&bench->rounds, "; ends on processors 0 and 1");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench bench = {
        .rounds = {.count = 5, .limit_s = 30}, .seconds = 0.3, .minutes = 60};
    struct cli cli = {
        .program = "compare",
        .usage = "Usage: compare [OPTION]...\n"
                 "Measures the data plane beside UCX, MPI, libfabric and programs without a "
                 "library.\n\n",
        .options = options,
        .count = sizeof(options) / sizeof(*options),
        .members = &bench,
    };
    int status = cli_read(&cli, argc, argv);
    if (status != 0 || !run_own_folder(bench.programs, sizeof(bench.programs))) {
        return status > 0 ? 0 : 2;
    }
    bench.sources = bench.sources ? bench.sources : bench.programs;
    setenv("UCX_TLS", "tcp", 1); /* what its tag_bw chooses from; the others name theirs */
    setenv("UCX_NET_DEVICES", "lo", 1);
    run_prepare();
    describe(&bench);
    bench.deadline = time(NULL) + 60 * (time_t) bench.minutes;
    bench.each = bench.rounds.count;
    bench.rounds.count *= bench.quick ? 1 : 2;
    rounds_run(&bench.rounds, run_round, &bench);
    return print_table(&bench) > 0;
}
