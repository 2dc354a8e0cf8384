/* Messages between two processes: the RML over each of its ways, beside ZeroMQ and NNG. Rounds in
 * which each takes its turn, in changing order, so that whatever else the machine does hits all
 * alike. */
#include <config.h>

#include <bench/machine.h>
#include <bench/rounds.h>
#include <bench/run.h>
#include <bench/series.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tools/cli.h>
#include <unistd.h>

enum subject_id { TCP, UNIX, ONE, TWO, BESIDE, BESIDE_TWO, PLAIN, CURVE, NNG, SUBJECTS };
enum { SIZES = 3, ARGS_MAX = 16, SMALL = 0, LARGE = 2 };

static const unsigned sizes[SIZES] = {8, 4096, 1 << 20};

struct subject {
    const char *name;
    const char *program; /* in this program's folder */
    const char *mode;    /* its argument; NULL: none */
    bool beside;         /* of another build */
    unsigned nodes;      /* simulated ones, 0: none; each has a daemon between the ends */
    double gate;         /* half a round trip, in those of the direct link; 0: none */
};

static const struct subject subjects[SUBJECTS] = {
    [TCP] = {"RML tcp", "rml_keel", "tcp", false, 0, 0},
    [UNIX] = {"RML unix", "rml_keel", "unix", false, 0, 0},
    [ONE] = {"RML 1 daemon", "rml_keel", "routed", false, 0, 2},
    [TWO] = {"RML 2 daemons", "rml_keel", "routed", false, 2, 3},
    [BESIDE] = {"beside tcp", "rml_keel", "tcp", true, 0, 0},
    [BESIDE_TWO] = {"beside 2 dmns", "rml_keel", "routed", true, 2, 0},
    [PLAIN] = {"ZeroMQ", "rml_zmq", "plain", false, 0, 0},
    [CURVE] = {"ZeroMQ CURVE", "rml_zmq", "curve", false, 0, 0},
    [NNG] = {"NNG", "rml_nng", NULL, false, 0, 0},
};

struct figures {
    struct series half_trip_us, rate;
};

struct bench {
    char programs[PATH_MAX]; /* the folder of this program */
    const char *beside;      /* another build's; empty: none */
    struct rounds rounds;
    bool free;
    struct figures figures[SUBJECTS][SIZES];
    unsigned failed[SUBJECTS];
    char affinity[SUBJECTS][64];
};

static bool is_keel(enum subject_id id)
{
    return id < PLAIN;
}

/* The folder that the subject's program is in, and its path. */
static bool find_program(const struct bench *bench, enum subject_id id, char *path, size_t size)
{
    const char *folder = subjects[id].beside ? bench->beside : bench->programs;
    int length = snprintf(path, size, "%s/%s", folder, subjects[id].program);
    return *folder && length > 0 && (size_t) length < size && access(path, X_OK) == 0;
}

/* --- runs --- */

static void run_subject(struct bench *bench, enum subject_id id, struct run *run)
{
    char program[PATH_MAX + 64], keelrun[PATH_MAX + 64], nodes[32];
    const char *argv[ARGS_MAX];
    size_t count = 0;
    find_program(bench, id, program, sizeof(program));
    if (is_keel(id)) {
        snprintf(keelrun, sizeof(keelrun), "%s/../bin/keelrun",
                 subjects[id].beside ? bench->beside : bench->programs);
        snprintf(nodes, sizeof(nodes), "%ux1", subjects[id].nodes);
        argv[count++] = keelrun;
        argv[count++] = "--oversubscribe";
        argv[count++] = "--mca";
        argv[count++] = "oob_tcp_if_include";
        argv[count++] = "lo";
        if (subjects[id].nodes > 0) {
            argv[count++] = "--simulate";
            argv[count++] = nodes;
        }
        argv[count++] = "-n";
        argv[count++] = "2";
    }
    argv[count++] = program;
    if (subjects[id].mode) {
        argv[count++] = subjects[id].mode;
    }
    argv[count] = NULL;
    run_command(argv, bench->rounds.limit_s * 1000, run);
}

/* Takes what the program printed; false: that is not all. */
static bool take_output(struct bench *bench, enum subject_id id, char *output)
{
    unsigned found = 0;
    char *rest = output;
    for (char *line; (line = strsep(&rest, "\n"));) {
        unsigned size;
        double half_trip_us, rate;
        if (strncmp(line, "affinity ", 9) == 0) {
            snprintf(bench->affinity[id], sizeof(bench->affinity[id]), "%.60s", line + 9);
        }
        if (sscanf(line, "%u %lf %lf", &size, &half_trip_us, &rate) == 3 && found < SIZES &&
            size == sizes[found]) {
            series_add(&bench->figures[id][found].half_trip_us, half_trip_us);
            series_add(&bench->figures[id][found].rate, rate);
            found++;
        }
    }
    return found == SIZES;
}

static void measure(struct bench *bench, enum subject_id id)
{
    struct run run;
    run_subject(bench, id, &run);
    if (run.end == RUN_PASSED && !take_output(bench, id, run.output)) {
        run.end = RUN_FAILED;
        snprintf(run.reason, sizeof(run.reason), "it did not print all figures");
    }
    if (run.end != RUN_PASSED) {
        bench->failed[id]++;
        rounds_note(&bench->rounds, "%s: %.200s", subjects[id].name, run.reason);
    }
}

/* Another one begins each round, and each second round goes the other way. */
static void run_round(void *arg, unsigned round)
{
    struct bench *bench = arg;
    char path[PATH_MAX + 64];
    for (unsigned i = 0; i < SUBJECTS; i++) {
        unsigned turn = round % 2 ? SUBJECTS - 1 - i : i;
        enum subject_id id = (enum subject_id)((turn + round / 2) % SUBJECTS);
        if (find_program(bench, id, path, sizeof(path))) {
            measure(bench, id);
        }
    }
}

/* --- the table --- */

/* What a line has to meet. */
struct verdict {
    char text[160];
    bool missed; /* a gate */
};

static void require(struct verdict *verdict, const char *what, bool gate, bool met)
{
    size_t used = strlen(verdict->text);
    snprintf(verdict->text + used, sizeof(verdict->text) - used, "  %s %s %s",
             gate ? "gate" : "goal", what,
             met    ? "met"
             : gate ? "MISSED"
                    : "missed");
    verdict->missed = verdict->missed || (gate && !met);
}

static void judge(struct bench *bench, enum subject_id id, unsigned size, struct verdict *verdict)
{
    double trip = series_median(&bench->figures[id][size].half_trip_us);
    double rate = series_median(&bench->figures[id][size].rate);
    double direct_trip = series_median(&bench->figures[TCP][size].half_trip_us);
    double direct_rate = series_median(&bench->figures[TCP][size].rate);
    *verdict = (struct verdict){.missed = false};
    if (id == CURVE) {
        require(verdict, "half trip", true, direct_trip < trip);
        if (size == SMALL) {
            require(verdict, "rate", false, direct_rate > rate);
        } else {
            require(verdict, "stream", size == LARGE, direct_rate > rate);
        }
    } else if (subjects[id].gate > 0) {
        char text[32];
        snprintf(text, sizeof(text), "%.0f x direct", subjects[id].gate);
        require(verdict, text, true, trip <= subjects[id].gate * direct_trip);
    }
}

/* Returns whether it misses a gate. */
static bool print_line(struct bench *bench, enum subject_id id, unsigned size)
{
    struct figures *figures = &bench->figures[id][size], *direct = &bench->figures[TCP][size];
    double trip = series_median(&figures->half_trip_us), rate = series_median(&figures->rate);
    struct verdict verdict;
    judge(bench, id, size, &verdict);
    printf("%8u  %-13s %10.2f %10.2f %10.2f %10.1f", sizes[size], subjects[id].name, trip,
           series_min(&figures->half_trip_us), rate / 1e3, rate * sizes[size] / 1e6);
    if (id != TCP && trip > 0 && rate > 0) {
        printf(" %7.2f %7.2f%s", trip / series_median(&direct->half_trip_us),
               rate / series_median(&direct->rate), verdict.text);
    }
    printf("\n");
    return verdict.missed;
}

/* Returns how many gates were missed. */
static unsigned print_table(struct bench *bench)
{
    unsigned missed = 0;
    printf("\n%8s  %-13s %10s %10s %10s %10s %7s %7s\n", "bytes", "who", "half trip", "least",
           "rate", "stream", "trip", "rate");
    printf("%8s  %-13s %10s %10s %10s %10s %15s\n", "", "", "us", "us", "1000/s", "MB/s",
           "x RML tcp's");
    for (unsigned size = 0; size < SIZES; size++) {
        for (unsigned id = 0; id < SUBJECTS; id++) {
            if (bench->figures[id][size].rate.count > 0) {
                missed += print_line(bench, (enum subject_id) id, size);
            }
        }
    }
    for (unsigned id = 0; id < SUBJECTS; id++) {
        if (bench->failed[id] > 0) {
            printf("%s: %u of %u runs failed\n", subjects[id].name, bench->failed[id],
                   bench->rounds.count);
            missed += is_keel((enum subject_id) id);
        }
    }
    rounds_print_reasons(&bench->rounds);
    return missed;
}

/* --- the program --- */

#define SETS(take, member) take, .offset = offsetof(struct bench, member)

static const struct cli_option options[] = {
    {"rounds", "N", "runs of each (default 11)", SETS(cli_count, rounds.count), .least = 1,
     .most = 9999},
    {"limit", "SECONDS", "a run that takes longer is killed and counted (default 20)",
     SETS(cli_count, rounds.limit_s), .least = 1, .most = 1000000},
    {"free", NULL, "the ends are not bound to a processor each", SETS(cli_flag, free)},
    {"beside", "FOLDER", "the bench folder of another build as a further peer",
     SETS(cli_text, beside)},
};

static void describe(const struct bench *bench)
{
    char path[PATH_MAX + 64];
    machine_describe(stdout);
    snprintf(path, sizeof(path), "%s/../bin/keelrun", bench->programs);
    machine_describe_program(stdout, "keelrun", path);
    if (find_program(bench, PLAIN, path, sizeof(path))) {
        machine_describe_program(stdout, "ZeroMQ", path);
    } else {
        printf("ZeroMQ      was not measured: it was not there when this was built\n");
    }
    if (find_program(bench, NNG, path, sizeof(path))) {
        machine_describe_program(stdout, "NNG", path);
    } else {
        printf("NNG         was not measured: it was not there when this was built\n");
    }
    rounds_describe(&bench->rounds, "");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench bench = {.rounds = {.count = 11, .limit_s = 20}, .beside = ""};
    struct cli cli = {
        .program = "rml",
        .usage = "Usage: rml [OPTION]...\n"
                 "Measures the RML beside ZeroMQ and NNG.\n\n",
        .options = options,
        .count = sizeof(options) / sizeof(*options),
        .members = &bench,
    };
    int status = cli_read(&cli, argc, argv);
    if (status != 0 || !run_own_folder(bench.programs, sizeof(bench.programs))) {
        return status > 0 ? 0 : 2;
    }
    setenv("BENCH_AFFINITY", bench.free ? "free" : "bound", 1);
    run_prepare();
    describe(&bench);
    rounds_run(&bench.rounds, run_round, &bench);
    printf("end 0       ran on processors");
    for (unsigned id = 0; id < SUBJECTS; id++) {
        if (*bench.affinity[id]) {
            printf("%s %s (%s)", id > 0 ? "," : "", bench.affinity[id], subjects[id].name);
        }
    }
    printf("\n");
    return print_table(&bench) > 0;
}
