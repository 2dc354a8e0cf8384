/* How long a launcher takes from its start to its end, beside its peers: rounds in which each takes
 * its turn, in changing order, so that whatever else the machine does hits all alike. */
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
#include <sys/mman.h>
#include <tools/cli.h>
#include <unistd.h>

enum launcher { KEELRUN, BESIDE, HYDRA, MPIRUN, LAUNCHERS };
enum { SIZES_MAX = 4, ARGS_MAX = 16, WORDS_MAX = 32, NODES = 64 };

/* What a gate or goal says is from the launcher's acceptance list: gates are ratios to a peer,
 * goals are milliseconds of a bare launcher on an idle machine with two processors, with a fifth on
 * top. */
static const double goal_factor = 1.2;

struct subject {
    const char *name;
    const char *program; /* with a slash: below this program's folder */
    bool hello;          /* takes its size, prints a line for each rank */
    bool hostfile;       /* of NODES lines; not for the build beside */
    const char *pml;     /* NULL: Open MPI's choice */
    enum launcher peer;  /* that the gate names */
    double gate;
    bool runs_under[LAUNCHERS];
    struct {
        unsigned ranks;
        double reference_ms; /* 0: none is known */
    } sizes[SIZES_MAX];
};

static const struct subject subjects[] = {
    {"true", "true", .peer = HYDRA, .gate = 1.0, .runs_under = {true, true, true, true},
     .sizes = {{1, 1.2}, {16, 6.9}, {64, 27}, {256, 92}}},
    /* mpirun starts its daemons on every node of the file */
    {"true, 64 nodes", "true", .hostfile = true, .peer = HYDRA, .gate = 1.0,
     .runs_under = {true, true, true, false}, .sizes = {{1, 0}, {2, 0}}},
    {"Open MPI hello", "./hello.openmpi", .hello = true, .peer = MPIRUN, .gate = 0.9,
     .runs_under = {true, true, false, true}, .sizes = {{1, 229}, {8, 279}, {32, 0}}},
    {"Open MPI hello, ob1", "./hello.openmpi", .hello = true, .pml = "ob1", .peer = MPIRUN,
     .gate = 0.6, .runs_under = {true, true, false, true}, .sizes = {{1, 21}, {8, 66}, {32, 381}}},
    {"MPICH hello", "./hello.mpich", .hello = true, .peer = HYDRA, .gate = 1.0,
     .runs_under = {true, true, true, false}, .sizes = {{1, 30}, {8, 267}, {32, 0}}},
};
enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

static const char *const names[LAUNCHERS] = {"keelrun", "beside", "hydra", "mpirun"};

struct result {
    struct series wall, cpu;
    unsigned runs, failed, did_not_end;
};

struct bench {
    char programs[PATH_MAX];            /* the folder of this program */
    char commands[LAUNCHERS][PATH_MAX]; /* empty: not to be measured */
    const char *words[LAUNCHERS];       /* further options; NULL: none */
    char hostfile[64];                  /* of NODES lines */
    const char *only_subject;           /* NULL: all */
    unsigned only_ranks;                /* 0: all */
    struct rounds rounds;
    struct result results[SUBJECTS][SIZES_MAX][LAUNCHERS];
};

/* --- what is measured --- */

static bool is_chosen(const struct bench *bench, const struct subject *subject, unsigned size)
{
    unsigned ranks = subject->sizes[size].ranks;
    return ranks > 0 && (!bench->only_subject || strcmp(bench->only_subject, subject->name) == 0) &&
           (bench->only_ranks == 0 || bench->only_ranks == ranks);
}

static bool program_path(const struct bench *bench, const struct subject *subject, char *path,
                         size_t size)
{
    if (*subject->program != '.') {
        snprintf(path, size, "%s", subject->program);
        return true;
    }
    int length = snprintf(path, size, "%s/%s", bench->programs, subject->program + 2);
    return length > 0 && (size_t) length < size && access(path, X_OK) == 0;
}

static bool is_measured(const struct bench *bench, const struct subject *subject,
                        enum launcher launcher)
{
    char path[PATH_MAX];
    return subject->runs_under[launcher] && *bench->commands[launcher] &&
           program_path(bench, subject, path, sizeof(path));
}

/* --- runs --- */

/* Splits them, in place, at blanks. */
static size_t add_words(char *words, const char **argv)
{
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        argv[count++] = word;
    }
    return count;
}

static void run_launcher(struct bench *bench, const struct subject *subject, unsigned ranks,
                         enum launcher launcher, struct run *run)
{
    char program[PATH_MAX], number[16], words[1024];
    const char *argv[ARGS_MAX + WORDS_MAX];
    size_t count = 0;
    program_path(bench, subject, program, sizeof(program));
    snprintf(number, sizeof(number), "%u", ranks);
    argv[count++] = bench->commands[launcher];
    if (launcher != HYDRA) {
        argv[count++] = "--oversubscribe";
    }
    snprintf(words, sizeof(words), "%s", bench->words[launcher] ? bench->words[launcher] : "");
    count += add_words(words, argv + count);
    if (subject->hostfile && launcher != BESIDE) {
        argv[count++] = "-f";
        argv[count++] = bench->hostfile;
    }
    if (subject->pml) {
        argv[count++] = "--mca";
        argv[count++] = "pml";
        argv[count++] = subject->pml;
    }
    argv[count++] = "-n";
    argv[count++] = number;
    argv[count++] = program;
    if (subject->hello) {
        argv[count++] = number;
    }
    argv[count] = NULL;
    run_command(argv, bench->rounds.limit_s * 1000, run);
    if (run->end == RUN_PASSED && run->lines != (subject->hello ? ranks : 0)) {
        run->end = RUN_FAILED;
        snprintf(run->reason, sizeof(run->reason), "%zu lines of output", run->lines);
    }
}

static void measure(struct bench *bench, const struct subject *subject, unsigned size,
                    enum launcher launcher)
{
    struct result *result = &bench->results[subject - subjects][size][launcher];
    unsigned ranks = subject->sizes[size].ranks;
    struct run run;
    run_launcher(bench, subject, ranks, launcher, &run);
    result->runs++;
    if (run.end == RUN_PASSED) {
        series_add(&result->wall, run.wall_ms);
        series_add(&result->cpu, run.cpu_ms);
        return;
    }
    result->failed += run.end == RUN_FAILED;
    result->did_not_end += run.end == RUN_DID_NOT_END;
    rounds_note(&bench->rounds, "%s, %s, %u ranks: %.200s", names[launcher], subject->name, ranks,
                run.reason);
}

/* Another launcher begins each round, and each second round goes the other way. */
static void run_round(void *arg, unsigned round)
{
    struct bench *bench = arg;
    for (unsigned s = 0; s < SUBJECTS; s++) {
        for (unsigned size = 0; size < SIZES_MAX; size++) {
            if (!is_chosen(bench, &subjects[s], size)) {
                continue;
            }
            for (unsigned i = 0; i < LAUNCHERS; i++) {
                unsigned turn = round % 2 ? LAUNCHERS - 1 - i : i;
                enum launcher launcher = (enum launcher)((turn + round / 2) % LAUNCHERS);
                if (is_measured(bench, &subjects[s], launcher)) {
                    measure(bench, &subjects[s], size, launcher);
                }
            }
        }
    }
}

/* Nodes that take two ranks each, in the one form that keelrun and hydra both read. In memory, so
 * that nothing is left; it ends with this process. */
static bool write_hostfile(struct bench *bench)
{
    int fd = memfd_create("hostfile", MFD_CLOEXEC);
    bool written = fd >= 0 && dprintf(fd, "localhost:2\n") > 0;
    for (unsigned node = 2; written && node <= NODES; node++) {
        written = dprintf(fd, "node%u:2\n", node) > 0;
    }
    snprintf(bench->hostfile, sizeof(bench->hostfile), "/proc/%d/fd/%d", (int) getpid(), fd);
    if (!written) {
        perror("a hostfile in memory");
    }
    return written;
}

/* Programs and libraries come into memory; nothing is counted. */
static void warm_up(struct bench *bench)
{
    struct run run;
    for (unsigned s = 0; s < SUBJECTS; s++) {
        for (unsigned launcher = 0; launcher < LAUNCHERS; launcher++) {
            if (is_measured(bench, &subjects[s], (enum launcher) launcher)) {
                run_launcher(bench, &subjects[s], 1, (enum launcher) launcher, &run);
            }
        }
    }
}

/* --- the table --- */

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* What there is to say about a launcher's line. Returns whether it misses a gate. */
static bool judge(const struct subject *subject, unsigned size, enum launcher launcher,
                  struct result results[LAUNCHERS], char text[2][48])
{
    struct result *result = &results[launcher], *own = &results[KEELRUN];
    double goal = subject->sizes[size].reference_ms * goal_factor;
    double wall = series_median(&result->wall);
    double against = ratio(series_median(&own->wall), wall);
    bool missed = false;
    if (launcher == KEELRUN && goal > 0 && wall > 0) {
        snprintf(text[0], 48, "  goal %.1f ms %s", goal, wall <= goal ? "met" : "missed");
    } else if (launcher == subject->peer && against > 0) {
        missed = against > subject->gate;
        snprintf(text[0], 48, "  gate %.2f %s", subject->gate, missed ? "MISSED" : "met");
    }
    if (result->failed + result->did_not_end > 0) {
        snprintf(text[1], 48, "  of %u: %u failed, %u did not end", result->runs, result->failed,
                 result->did_not_end);
        missed = missed || launcher == KEELRUN;
    }
    return missed;
}

/* One launcher's line. Returns whether it misses a gate. */
static bool print_line(const struct subject *subject, unsigned size, enum launcher launcher,
                       struct result results[LAUNCHERS])
{
    struct result *result = &results[launcher], *own = &results[KEELRUN];
    char text[2][48] = {"", ""};
    bool missed = judge(subject, size, launcher, results, text);
    double wall = series_median(&result->wall), cpu = series_median(&result->cpu);
    double wall_ratio = ratio(series_median(&own->wall), wall);
    double cpu_ratio = ratio(series_median(&own->cpu), cpu);
    printf("%-20s %4u  %-8s %9.2f %9.2f %9.2f", subject->name, subject->sizes[size].ranks,
           names[launcher], wall, series_min(&result->wall), cpu);
    if (launcher != KEELRUN && wall_ratio > 0) {
        printf(" %6.2f %6.2f", wall_ratio, cpu_ratio);
    } else if (*text[0] || *text[1]) {
        printf("%14s", "");
    }
    printf("%s%s\n", text[0], text[1]);
    return missed;
}

/* Returns how many gates were missed. */
static unsigned print_table(struct bench *bench)
{
    unsigned missed = 0;
    printf("\n%-20s %4s  %-8s %9s %9s %9s %6s %6s\n", "program", "N", "launcher", "median ms",
           "least ms", "CPU ms", "ratio", "CPU");
    for (unsigned s = 0; s < SUBJECTS; s++) {
        for (unsigned size = 0; size < SIZES_MAX; size++) {
            for (unsigned launcher = 0; launcher < LAUNCHERS; launcher++) {
                struct result *results = bench->results[s][size];
                if (results[launcher].runs > 0) {
                    missed += print_line(&subjects[s], size, (enum launcher) launcher, results);
                }
            }
        }
    }
    return missed;
}

static void print_notes(const struct bench *bench)
{
    char path[PATH_MAX];
    for (unsigned s = 0; s < SUBJECTS; s++) {
        if (!program_path(bench, &subjects[s], path, sizeof(path))) {
            printf("%s was not measured: no %s\n", subjects[s].name, path);
        }
    }
    for (unsigned launcher = 0; launcher < LAUNCHERS; launcher++) {
        if (launcher != BESIDE && !*bench->commands[launcher]) {
            printf("%s was not measured: it is not installed\n", names[launcher]);
        }
    }
    rounds_print_reasons(&bench->rounds);
}

/* --- the program --- */

static bool set_command(char command[PATH_MAX], const char *path)
{
    int length = snprintf(command, PATH_MAX, "%s", path);
    if (length >= PATH_MAX || access(path, X_OK) < 0) {
        *command = '\0';
    }
    return *command;
}

static bool find_programs(struct bench *bench)
{
    char keelrun[PATH_MAX + 32];
    if (!run_own_folder(bench->programs, sizeof(bench->programs))) {
        return false;
    }
    (void) run_find(bench->commands[HYDRA], "mpiexec.hydra");
    (void) run_find(bench->commands[MPIRUN], "mpirun.openmpi");
    snprintf(keelrun, sizeof(keelrun), "%s/../bin/keelrun", bench->programs);
    return *bench->commands[KEELRUN] || set_command(bench->commands[KEELRUN], keelrun);
}

static bool take_command(struct cli *cli, const char *path)
{
    return set_command(cli_member(cli), path);
}

#define SETS(take, member) take, .offset = offsetof(struct bench, member)

static const struct cli_option options[] = {
    {"rounds", "N", "runs of each (default 11)", SETS(cli_count, rounds.count), .least = 1,
     .most = 9999},
    {"limit", "SECONDS", "a run that takes longer is killed and counted (default 20)",
     SETS(cli_count, rounds.limit_s), .least = 1, .most = 1000000},
    {"program", "NAME", "only this one: true, \"Open MPI hello\", ...",
     SETS(cli_text, only_subject)},
    {"ranks", "N", "only with so many ranks", SETS(cli_count, only_ranks)},
    {"keelrun", "PATH", "not the keelrun of this build", SETS(take_command, commands[KEELRUN])},
    {"beside", "PATH", "another keelrun as a further peer", SETS(take_command, commands[BESIDE])},
    {"options", "WORDS", "further options of keelrun", SETS(cli_text, words[KEELRUN])},
    {"beside-options", "WORDS", "further options of the one beside", SETS(cli_text, words[BESIDE])},
};

static void describe(const struct bench *bench)
{
    machine_describe(stdout);
    for (unsigned launcher = 0; launcher < LAUNCHERS; launcher++) {
        if (*bench->commands[launcher]) {
            machine_describe_program(stdout, names[launcher], bench->commands[launcher]);
        }
    }
    rounds_describe(&bench->rounds, "");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench bench = {.rounds = {.count = 11, .limit_s = 20}};
    struct cli cli = {
        .program = "launch",
        .usage = "Usage: launch [OPTION]...\n"
                 "Measures keelrun beside mpiexec.hydra and mpirun.openmpi.\n\n",
        .options = options,
        .count = sizeof(options) / sizeof(*options),
        .members = &bench,
    };
    int status = cli_read(&cli, argc, argv);
    if (status != 0 || !find_programs(&bench)) {
        return status > 0 ? 0 : 2;
    }
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    if (!write_hostfile(&bench)) {
        return 2;
    }
    run_prepare();
    describe(&bench);
    warm_up(&bench);
    rounds_run(&bench.rounds, run_round, &bench);
    unsigned missed = print_table(&bench);
    print_notes(&bench);
    return missed > 0;
}
