/* The data plane beside its peers: keel-perf, UCX, MPI over the same wires, and programs without
 * any library. Rounds in which each takes its turn, in changing order, so that whatever else the
 * machine does hits all alike. */
#include <config.h>

#include <bench/machine.h>
#include <bench/rounds.h>
#include <bench/run.h>
#include <bench/series.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGS_MAX = 24, FIRST_PORT = 23000 };

enum metric_id {
    SM_TRIP,
    SM_RATE,
    SM_STREAM,
    TCP_TRIP,
    TCP_STREAM,
    OFI_TCP_TRIP,
    OFI_SHM_TRIP,
    OFI_UDP_TRIP,
    SM_COMPANY,
    SM_RAILS,
    SM_PASS,
    TCP_PASS,
    METRICS
};
enum role { KEEL, PEER, RAW, NOTE }; /* NOTE: shown, and compared with nobody */

/* Gates and goals are of the median of Keel's best beside that of the others: at most this times
 * the time, or at least this times the rate. 0: none. each: of Keel's worst. */
struct metric {
    const char *name, *unit;
    double scale;      /* from what a program prints */
    bool less_is_more; /* a time */
    double gate_peers, gate_raw, goal_peers, goal_raw;
    double gate_margin; /* of a time, in its unit: within it a gate is met as well */
    bool each;
};

static const struct metric metrics[METRICS] = {
    [SM_TRIP] = {"shared memory, 8 B, half trip", "ns", 1e3, true, 1.0, 0, 0, 1.3, 0, false},
    [SM_RATE] = {"shared memory, 8 B, rate", "M/s", 1e-6, false, 1.0, 0, 1.5, 0, 0, false},
    [SM_STREAM] = {"shared memory, 1 MiB, stream", "MB/s", 1e-6, false, 0.95, 0.95, 0, 0, 0, true},
    [TCP_TRIP] = {"TCP on loopback, 8 B, half trip", "us", 1, true, 1.0, 0, 0, 1.1, 0, false},
    [TCP_STREAM] = {"TCP on loopback, 1 MiB, stream", "MB/s", 1e-6, false, 0.95, 0.95, 0, 0, 0,
                    false},
    [OFI_TCP_TRIP] = {"libfabric tcp;ofi_rxm, 8 B, half trip", "us", 1, true, 1.1, 0, 0, 0, 0.06,
                      false},
    [OFI_SHM_TRIP] = {"libfabric shm, 8 B, half trip", "us", 1, true, 1.1, 0, 0, 0, 0.06, false},
    [OFI_UDP_TRIP] = {"libfabric udp;ofi_rxd, 8 B, half trip", "us", 1, true, 1.1, 0, 0, 0, 0.06,
                      false},
    [SM_COMPANY] = {"sm, 8 B, half trip among idle ranks", "ns", 1e3, true, 0, 0, 0, 0, 0, false},
    [SM_RAILS] = {"sm, 8 B, half trip beside other rails", "ns", 1e3, true, 0, 0, 1.5, 0, 0, false},
    [SM_PASS] = {"sm, an empty pass of progress", "ns", 1, true, 0, 0, 0, 0, 0, false},
    [TCP_PASS] = {"tcp, an empty pass of progress", "ns", 1, true, 0, 0, 0, 0, 0, false},
};

enum source { FROM_KEEL, FROM_UCX, FROM_MPI, FROM_RAW, FROM_FABRIC, FROM_PASSES };

struct probe {
    enum metric_id metric;
    enum role role;
    enum source source;
    const char *name;
    const char *what; /* the program's test, and for Keel and MPI the rail */
    const char *rail;
    unsigned bytes;      /* of a message: a program prints messages per second; 0: as it prints */
    unsigned column;     /* of the last line of UCX's and libfabric's programs */
    const char *options; /* of keelrun, beside the usual ones; NULL: -n 2 */
};

static const struct probe probes[] = {
    {SM_TRIP, KEEL, FROM_KEEL, "Keel sm", "am_lat", "sm", 0, 0, NULL},
    {SM_TRIP, PEER, FROM_UCX, "UCX posix", "-d memory -x posix -t am_lat -s 8 -n 200000", "", 0, 2,
     NULL},
    {SM_TRIP, PEER, FROM_MPI, "Open MPI vader", "trip 8", "self,vader", 0, 0, NULL},
    {SM_TRIP, RAW, FROM_RAW, "raw cache line", "cacheline 8", "", 0, 0, NULL},
    {SM_RATE, KEEL, FROM_KEEL, "Keel sm", "am_rate", "sm", 0, 0, NULL},
    {SM_RATE, PEER, FROM_UCX, "UCX posix", "-d memory -x posix -t am_bw -s 8 -n 2000000", "", 0, 7,
     NULL},
    {SM_RATE, PEER, FROM_MPI, "Open MPI vader", "rate 8", "self,vader", 0, 0, NULL},
    {SM_STREAM, KEEL, FROM_KEEL, "Keel sm put", "put_bw", "sm", 1 << 20, 0, NULL},
    {SM_STREAM, KEEL, FROM_KEEL, "Keel sm get", "get_bw", "sm", 1 << 20, 0, NULL},
    {SM_STREAM, KEEL, FROM_KEEL, "Keel sm messages", "am_bw", "sm", 1 << 20, 0, NULL},
    {SM_STREAM, PEER, FROM_UCX, "UCX cma put",
     "-d memory -x cma -t put_bw -D zcopy -s 1048576 -n 2000", "", 1 << 20, 7, NULL},
    {SM_STREAM, PEER, FROM_MPI, "Open MPI vader", "rate 1048576", "self,vader", 1 << 20, 0, NULL},
    {SM_STREAM, RAW, FROM_RAW, "raw CMA", "cma 1048576", "", 0, 0, NULL},
    {SM_STREAM, NOTE, FROM_RAW, "memcpy, one process", "memcpy 1048576", "", 0, 0, NULL},
    {TCP_TRIP, KEEL, FROM_KEEL, "Keel tcp", "am_lat", "tcp", 0, 0, NULL},
    {TCP_TRIP, PEER, FROM_UCX, "UCX tcp", "-d lo -x tcp -t am_lat -s 8 -n 20000", "", 0, 2, NULL},
    {TCP_TRIP, PEER, FROM_MPI, "Open MPI tcp", "trip 8", "self,tcp", 0, 0, NULL},
    {TCP_TRIP, RAW, FROM_RAW, "raw socket, polled", "tcp_trip 8", "", 0, 0, NULL},
    {TCP_STREAM, KEEL, FROM_KEEL, "Keel tcp put", "put_bw", "tcp", 1 << 20, 0, NULL},
    {TCP_STREAM, KEEL, FROM_KEEL, "Keel tcp messages", "am_bw", "tcp", 1 << 20, 0, NULL},
    {TCP_STREAM, PEER, FROM_UCX, "UCX tcp", "-t tag_bw -s 1048576 -n 1000", "", 1 << 20, 7, NULL},
    {TCP_STREAM, PEER, FROM_MPI, "Open MPI tcp", "rate 1048576", "self,tcp", 1 << 20, 0, NULL},
    {TCP_STREAM, RAW, FROM_RAW, "raw socket", "tcp_stream 1048576", "", 0, 0, NULL},
    {OFI_TCP_TRIP, KEEL, FROM_KEEL, "Keel ofi", "am_lat", "ofi", 0, 0,
     "-n 2 --mca btl_ofi_provider tcp;ofi_rxm --mca btl_ofi_domain lo"},
    {OFI_TCP_TRIP, PEER, FROM_FABRIC, "fi_pingpong", "tcp;ofi_rxm lo 8 20000", "", 0, 7, NULL},
    {OFI_SHM_TRIP, KEEL, FROM_KEEL, "Keel ofi", "am_lat", "ofi", 0, 0,
     "-n 2 --mca btl_ofi_provider shm"},
    {OFI_SHM_TRIP, PEER, FROM_FABRIC, "fi_pingpong", "shm shm 8 200000", "", 0, 7, NULL},
    {OFI_UDP_TRIP, KEEL, FROM_KEEL, "Keel ofi", "am_lat", "ofi", 0, 0,
     "-n 2 --mca btl_ofi_provider udp;ofi_rxd --mca btl_ofi_domain lo"},
    {OFI_UDP_TRIP, PEER, FROM_FABRIC, "fi_pingpong", "udp;ofi_rxd lo 8 10000", "", 0, 7, NULL},
    {SM_COMPANY, KEEL, FROM_KEEL, "2 ranks", "am_lat", "sm", 0, 0, NULL},
    {SM_COMPANY, NOTE, FROM_KEEL, "4 ranks", "am_lat", "sm", 0, 0, "--oversubscribe -n 4"},
    {SM_COMPANY, NOTE, FROM_KEEL, "8 ranks", "am_lat", "sm", 0, 0, "--oversubscribe -n 8"},
    {SM_COMPANY, NOTE, FROM_KEEL, "16 ranks", "am_lat", "sm", 0, 0, "--oversubscribe -n 16"},
    {SM_RAILS, PEER, FROM_KEEL, "sm and self alone", "am_lat", "sm", 0, 0,
     "-n 2 --mca btl self,sm"},
    {SM_RAILS, NOTE, FROM_KEEL, "and tcp", "am_lat", "sm", 0, 0, "-n 2 --mca btl self,sm,tcp"},
    {SM_RAILS, KEEL, FROM_KEEL, "and tcp and ofi", "am_lat", "sm", 0, 0,
     "-n 2 --mca btl self,sm,tcp,ofi --mca btl_ofi_provider tcp;ofi_rxm --mca btl_ofi_domain lo"},
    {SM_PASS, NOTE, FROM_PASSES, "15 never met", "strangers", "sm", 0, 0, "-n 16"},
    {SM_PASS, KEEL, FROM_PASSES, "1 peer", "met", "sm", 0, 0, "-n 2"},
    {SM_PASS, NOTE, FROM_PASSES, "3 peers", "met", "sm", 0, 0, "-n 4"},
    {SM_PASS, NOTE, FROM_PASSES, "7 peers", "met", "sm", 0, 0, "-n 8"},
    {SM_PASS, NOTE, FROM_PASSES, "15 peers", "met", "sm", 0, 0, "-n 16"},
    {TCP_PASS, NOTE, FROM_PASSES, "15 never met", "strangers", "tcp", 0, 0, "-n 16"},
    {TCP_PASS, KEEL, FROM_PASSES, "1 peer", "met", "tcp", 0, 0, "-n 2"},
    {TCP_PASS, NOTE, FROM_PASSES, "15 peers", "met", "tcp", 0, 0, "-n 16"},
};
enum { PROBES = sizeof(probes) / sizeof(*probes) };

struct bench {
    char programs[PATH_MAX]; /* the folder of this program */
    char sources[PATH_MAX];  /* that of ucx-pair and fabric-pair */
    struct rounds rounds;
    const char *only; /* a part of a metric's name; NULL: all */
    struct series figures[PROBES];
    unsigned failed[PROBES];
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

static void run_probe(struct bench *bench, const struct probe *probe, struct run *run)
{
    char path[PATH_MAX + 32], program[PATH_MAX + 32], words[256];
    const char *argv[ARGS_MAX];
    size_t count = 0;
    switch (probe->source) {
    case FROM_KEEL:
        snprintf(path, sizeof(path), "%s/../bin/keelrun", bench->programs);
        snprintf(program, sizeof(program), "%s/../bin/keel-perf", bench->programs);
        snprintf(words, sizeof(words),
                 "%s --mca btl_tcp_if_include lo PROGRAM --json --time 0.3 --btl %s --test %s "
                 "--size %u",
                 probe->options ? probe->options : "-n 2", probe->rail, probe->what,
                 probe->bytes ? probe->bytes : 8);
        break;
    case FROM_PASSES: /* more ranks than processors would yield on empty passes */
        snprintf(path, sizeof(path), "%s/../bin/keelrun", bench->programs);
        snprintf(program, sizeof(program), "%s/passes", bench->programs);
        snprintf(words, sizeof(words),
                 "--oversubscribe %s --mca btl self,%s --mca btl_yield 0 "
                 "--mca btl_tcp_if_include lo PROGRAM %s",
                 probe->options, probe->rail, probe->what);
        break;
    case FROM_UCX:
        snprintf(path, sizeof(path), "%s/ucx-pair", bench->sources);
        snprintf(words, sizeof(words), "%u %s", FIRST_PORT + bench->port++ % 1000, probe->what);
        break;
    case FROM_FABRIC:
        snprintf(path, sizeof(path), "%s/fabric-pair", bench->sources);
        snprintf(words, sizeof(words), "%u %s", FIRST_PORT + bench->port++ % 1000, probe->what);
        break;
    case FROM_MPI:
        snprintf(path, sizeof(path), "mpirun.openmpi");
        snprintf(program, sizeof(program), "%s/pingpong", bench->programs);
        snprintf(words, sizeof(words),
                 "%s --bind-to core -n 2 --mca pml ob1 --mca btl %s --mca btl_tcp_if_include lo "
                 "PROGRAM %s",
                 geteuid() == 0 ? "--allow-run-as-root" : "", probe->rail, probe->what);
        break;
    default:
        snprintf(path, sizeof(path), "%s/raw", bench->programs);
        snprintf(words, sizeof(words), "%s", probe->what);
    }
    argv[count++] = path;
    count = add_words(argv, count, words);
    argv[count] = NULL;
    for (size_t i = 1; i < count; i++) {
        argv[i] = strcmp(argv[i], "PROGRAM") == 0 ? program : argv[i];
    }
    run_command(argv, bench->rounds.limit_ms, run);
    bench->rounds.own_cpu_ms += run->cpu_ms;
}

static bool number_behind(const char *text, const char *key, double *number)
{
    const char *found = strstr(text, key);
    return found && sscanf(found + strlen(key), "%lf", number) == 1;
}

static bool column(const char *text, unsigned wanted, double *number)
{
    char copy[512], *rest = copy;
    snprintf(copy, sizeof(copy), "%.511s", text);
    for (char *word; wanted > 0 && (word = strsep(&rest, " \n"));) {
        if (*word && --wanted == 0) {
            return sscanf(word, "%lf", number) == 1;
        }
    }
    return false;
}

/* What a program printed, in the metric's unit. */
static bool read_figure(const struct probe *probe, const char *output, double *figure)
{
    double number = 0;
    bool found;
    if (probe->source == FROM_KEEL) {
        found = number_behind(
            output,
            metrics[probe->metric].less_is_more ? "\"median\":" : "\"messages_per_s\":", &number);
    } else if (probe->source == FROM_UCX || probe->source == FROM_FABRIC) {
        found = column(output, probe->column, &number);
    } else {
        found = sscanf(output, "%lf", &number) == 1;
    }
    *figure = number * (probe->bytes ? probe->bytes : 1) * metrics[probe->metric].scale;
    return found && number > 0;
}

static void note(struct bench *bench, const struct probe *probe, const char *reason)
{
    char text[sizeof(bench->rounds.reasons[0])];
    snprintf(text, sizeof(text), "%s, %s: %.200s", probe->name, metrics[probe->metric].name,
             reason);
    rounds_note(&bench->rounds, text);
}

static void measure(struct bench *bench, unsigned index)
{
    struct run run;
    double figure;
    run_probe(bench, &probes[index], &run);
    if (run.end == RUN_PASSED && !read_figure(&probes[index], run.output, &figure)) {
        run.end = RUN_FAILED;
        snprintf(run.reason, sizeof(run.reason), "it printed no figure");
    }
    if (run.end == RUN_PASSED) {
        series_add(&bench->figures[index], figure);
    } else {
        bench->failed[index]++;
        note(bench, &probes[index], run.reason);
    }
}

static bool is_wanted(const struct bench *bench, const struct probe *probe)
{
    return !bench->only || strstr(metrics[probe->metric].name, bench->only);
}

/* Another one begins each round, and each second round goes the other way. */
static void run_round(void *arg, unsigned round)
{
    struct bench *bench = arg;
    for (unsigned i = 0; i < PROBES; i++) {
        unsigned turn = round % 2 ? PROBES - 1 - i : i;
        unsigned index = (turn + 5 * (round / 2)) % PROBES;
        if (is_wanted(bench, &probes[index])) {
            measure(bench, index);
        }
    }
}

/* --- the table --- */

static double best(struct bench *bench, enum metric_id metric, enum role role)
{
    double found = 0;
    bool least = metrics[metric].less_is_more != (metrics[metric].each && role == KEEL);
    for (unsigned i = 0; i < PROBES; i++) {
        double median = series_median(&bench->figures[i]);
        if (probes[i].metric == metric && probes[i].role == role && median > 0) {
            bool better = least ? median < found : median > found;
            found = found > 0 && !better ? found : median;
        }
    }
    return found;
}

/* Returns whether a gate is missed. */
static bool require(const struct metric *metric, bool gate, double factor, const char *beside,
                    double mine, double theirs)
{
    if (factor == 0 || mine == 0 || theirs == 0) {
        return false;
    }
    double ratio = mine / theirs;
    bool met = metric->less_is_more ? ratio <= factor : ratio >= factor;
    met = met || (gate && metric->less_is_more && mine - theirs <= metric->gate_margin);
    printf("    %s: %s %.2f x %s: %.2f, %s\n", gate ? "gate" : "goal",
           metric->less_is_more ? "at most" : "at least", factor, beside, ratio,
           met    ? "met"
           : gate ? "MISSED"
                  : "missed");
    return gate && !met;
}

static unsigned print_metric(struct bench *bench, enum metric_id id)
{
    const struct metric *metric = &metrics[id];
    double mine = best(bench, id, KEEL), peers = best(bench, id, PEER), raw = best(bench, id, RAW);
    printf("\n%s, %s\n", metric->name, metric->unit);
    for (unsigned i = 0; i < PROBES; i++) {
        double median = series_median(&bench->figures[i]);
        if (probes[i].metric != id) {
            continue;
        }
        printf("  %-20s %12.2f", probes[i].name, median);
        if (median > 0 && mine > 0) {
            printf("  %6.2f x", median / mine);
        }
        if (bench->failed[i] > 0) {
            printf("  %u of %u runs failed", bench->failed[i], bench->rounds.count);
        }
        printf("\n");
    }
    return (unsigned) require(metric, true, metric->gate_peers, "the best peer", mine, peers) +
           (unsigned) require(metric, true, metric->gate_raw, "raw", mine, raw) +
           (unsigned) require(metric, false, metric->goal_peers, "the best peer", mine, peers) +
           (unsigned) require(metric, false, metric->goal_raw, "raw", mine, raw) + (mine == 0);
}

/* Returns how many gates were missed. */
static unsigned print_table(struct bench *bench)
{
    unsigned missed = 0;
    for (enum metric_id id = 0; id < METRICS; id++) {
        if (!bench->only || strstr(metrics[id].name, bench->only)) {
            missed += print_metric(bench, id);
        }
    }
    rounds_print_reasons(&bench->rounds);
    return missed;
}

/* --- the program --- */

static const char usage[] =
    "Usage: compare [OPTION]...\n"
    "Measures the data plane beside UCX, Open MPI, libfabric and programs without a library.\n\n"
    "  --rounds N        runs of each (default 5)\n"
    "  --limit SECONDS   a run that takes longer is killed and counted (default 30)\n"
    "  --only TEXT       only metrics with this in their names: TCP, rate, ...\n"
    "  --sources FOLDER  where ucx-pair and fabric-pair are (default: beside this program)\n";

static bool parse(struct bench *bench, int argc, char **argv)
{
    enum { ONLY = ROUNDS_OPTIONS, SOURCES };
    static const struct option options[] = {
        {"rounds", required_argument, NULL, ROUNDS_COUNT},
        {"limit", required_argument, NULL, ROUNDS_LIMIT},
        {"only", required_argument, NULL, ONLY},
        {"sources", required_argument, NULL, SOURCES},
        {NULL, 0, NULL, 0},
    };
    int option;
    bool good = true;
    while (good && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case ONLY:
            bench->only = optarg;
            break;
        case SOURCES:
            snprintf(bench->sources, sizeof(bench->sources), "%s", optarg);
            break;
        default:
            good = rounds_option(&bench->rounds, option, optarg);
        }
    }
    return good && optind == argc;
}

static void describe(const struct bench *bench)
{
    char path[PATH_MAX + 32];
    machine_describe(stdout);
    snprintf(path, sizeof(path), "%s/../bin/keelrun", bench->programs);
    machine_describe_program(stdout, "keelrun", path);
    machine_describe_program(stdout, "mpirun", "mpirun.openmpi");
    rounds_describe(&bench->rounds, "; ends on processors 0 and 1");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench bench = {.rounds = {.count = 5, .limit_ms = 30000}};
    if (!run_own_folder(bench.programs, sizeof(bench.programs))) {
        return 2;
    }
    memcpy(bench.sources, bench.programs, sizeof(bench.sources));
    if (!parse(&bench, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    setenv("UCX_TLS", "tcp", 1); /* what its tag_bw chooses from; the others name theirs */
    setenv("UCX_NET_DEVICES", "lo", 1);
    run_prepare();
    describe(&bench);
    rounds_run(&bench.rounds, run_round, &bench);
    return print_table(&bench) > 0;
}
