#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tools/cli.h>
#include <tools/ps/options.h>

/* Debuggers have some seconds more than the head gives them. */
static const double answer_s = 5, stacks_s = 30;

/* The next word may be the seconds. */
static bool take_watch(struct cli *cli, const char *value)
{
    value = cli_next(cli);
    ((struct options *) cli->members)->watch = true;
    return !value || cli_real(cli, value);
}

static bool take_job(struct cli *cli, const char *value)
{
    struct options *options = cli->members;
    size_t digits = strspn(value, "0123456789abcdef");
    if (digits == 0 || digits > 32 || value[digits]) {
        return cli_wrong(cli, "--job: no job's id begins with ", value) == 0;
    }
    const char **longer = realloc(options->jobs, (options->job_count + 1) * sizeof(*longer));
    if (!longer) {
        return cli_wrong(cli, "out of memory", "") == 0;
    }
    options->jobs = longer;
    longer[options->job_count++] = value;
    return true;
}

#define SETS(take, member) take, .offset = offsetof(struct options, member)

static const struct cli_option rows[] = {
    {"job", "ID", "only jobs whose id begins so; repeatable", .take = take_job},
    {"json", NULL, "as one JSON object, on a line", SETS(cli_flag, json)},
    {"stacks", NULL, "what the ranks wait in: their stacks, each distinct one once",
     SETS(cli_flag, stacks)},
    {"counters", NULL, "what each rank has counted, below it", SETS(cli_flag, counters)},
    {"watch", "[SECONDS]", "again and again, with so many seconds between, else 2",
     SETS(take_watch, watch_s), .least = 0.1, .most = 86400},
    {"timeout", "SECONDS", "what a keelrun has to answer", SETS(cli_real, timeout_s), .least = 0.1,
     .most = 86400},
};

int options_read(struct options *options, int argc, char **argv)
{
    struct cli cli = {
        .program = "keel-ps",
        .usage = "Usage: keel-ps [OPTION]...\n"
                 "Prints this user's jobs whose keelrun runs on this host, with their nodes and "
                 "ranks. See\nkeel-ps(1).\n\n",
        .options = rows,
        .count = sizeof(rows) / sizeof(*rows),
        .members = options,
    };
    *options = (struct options){.watch_s = 2};
    int status = cli_read(&cli, argc, argv);
    if (options->timeout_s == 0) {
        options->timeout_s = options->stacks ? stacks_s : answer_s;
    }
    return status;
}

void options_free(struct options *options)
{
    free(options->jobs);
}

bool options_want(const struct options *options, const char *job)
{
    bool want = options->job_count == 0;
    for (size_t i = 0; i < options->job_count && !want; i++) {
        want = strncmp(job, options->jobs[i], strlen(options->jobs[i])) == 0;
    }
    return want;
}
