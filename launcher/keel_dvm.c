/* keel-dvm: starts the daemons of nodes and stays, so that keelrun --dvm has no more to start than
 * its job's. See keel-dvm(1). */
#include <config.h>

#include <base/data/strings.h>
#include <base/net/sock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/front/frontend.h>
#include <launcher/keeld_main.h>
#include <launcher/request/nodes/hostfile.h>
#include <launcher/request/options/mca_names.h>
#include <launcher/run.h>
#include <launcher/standing/contact.h>
#include <launcher/standing/submitter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_US 60000000u    /* --stop waits for the DVM's end, and that for its jobs' */
#define CHANGE_US 600000000u /* a change waits for its turn, and for daemons that start */
#define NAME "keel-dvm"

static const char help[] =
    "Usage: keel-dvm --uri FILE [OPTION]...\n"
    "       keel-dvm --uri FILE --add-host LIST | --add-hostfile HOSTFILE\n"
    "       keel-dvm --uri FILE --remove-host LIST\n"
    "       keel-dvm --stop FILE\n"
    "\n"
    "Starts a daemon on every node and stays; keelrun --dvm FILE runs jobs there.\n"
    "\n"
    "  --uri FILE              write where the DVM is to this file, for keelrun --dvm\n"
    "  --daemonize             go into the background when the DVM stands\n"
    "  --add-host LIST         add nodes to the DVM of this file: HOST or HOST:SLOTS, ...\n"
    "  --add-hostfile HOSTFILE add the nodes of a hostfile to it\n"
    "  --remove-host LIST      remove nodes from it, on which no ranks run\n"
    "  --stop FILE             end the DVM of this file, and its jobs\n"
    "  --help, --version\n"
    "\n"
    "Of keelrun's options, those that say on which nodes: --host, --hostfile,\n"
    "--simulate, --prefix, --launch-agent; and --mca. Without them: the nodes of the\n"
    "resource manager, else this one.\n";

/* The command line: what is keel-dvm's own, and what keelrun's parser gets. */
struct words {
    const char *uri, *stop, *add, *add_file, *remove;
    bool daemonize, help, version;
    char **rest; /* owned */
};

static bool fail_usage(const char *what, const char *why)
{
    (void) run_complain(EXIT_USAGE, what, why);
    return false;
}

/* The value of --NAME VALUE or --NAME=VALUE, and moves to the last word of it. NULL: another
 * option; "": there is none. */
static const char *value_of(const char *name, char ***word)
{
    size_t size = strlen(name);
    if (strncmp(**word, name, size) != 0 || ((**word)[size] && (**word)[size] != '=')) {
        return NULL;
    }
    if ((**word)[size]) {
        return **word + size + 1;
    }
    return (*word)[1] ? *++*word : "";
}

static bool take_word(struct words *words, char ***word)
{
    struct {
        const char *name, **value, *what;
    } options[] = {
        {"--uri", &words->uri, "a file is needed"},
        {"--stop", &words->stop, "a file is needed"},
        {"--add-host", &words->add, "hosts are needed"},
        {"--add-hostfile", &words->add_file, "a file is needed"},
        {"--remove-host", &words->remove, "hosts are needed"},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        const char *value = value_of(options[i].name, word);
        if (value) {
            *options[i].value = value;
            return *value || fail_usage(options[i].name, options[i].what);
        }
    }
    bool *flag = strcmp(**word, "--daemonize") == 0 ? &words->daemonize
                 : strcmp(**word, "--help") == 0    ? &words->help
                 : strcmp(**word, "--version") == 0 ? &words->version
                                                    : NULL;
    if (flag) {
        *flag = true;
        return true;
    }
    return strings_add(&words->rest, strdup(**word)) || fail_usage("out of memory", NULL);
}

static bool read_words(struct words *words, char **argv)
{
    for (; *argv; argv++) {
        if (!take_word(words, &argv)) {
            return false;
        }
    }
    if (!words->help && !words->version && !words->uri == !words->stop) {
        return fail_usage("--uri FILE or --stop FILE is needed (keel-dvm --help)", NULL);
    }
    int changes = !!words->add + !!words->add_file + !!words->remove;
    if (changes > 1 || (changes && (words->stop || words->rest || words->daemonize))) {
        return fail_usage("nothing but --uri FILE goes with each of --add-host, --add-hostfile and "
                          "--remove-host",
                          NULL);
    }
    return !words->stop || !words->rest || fail_usage("nothing goes with --stop", NULL);
}

/* --- the request --- */

/* What keelrun's parser is given: it wants a program, behind all options. */
static char **make_line(const struct words *words)
{
    const char *const end[] = {"--report-uri", words->uri, "--stdin", "none", "--", NAME};
    char **line = NULL;
    bool whole = strings_add(&line, strdup(NAME));
    for (char **word = words->rest; word && *word && whole; word++) {
        whole = strings_add(&line, strdup(*word));
    }
    for (size_t i = 0; i < sizeof(end) / sizeof(*end) && whole; i++) {
        whole = strings_add(&line, strdup(end[i]));
    }
    if (!whole) {
        strings_free(line);
        return NULL;
    }
    return line;
}

static bool check(const struct run_request *request)
{
    const struct app_request *app = &request->apps[0];
    if (request->app_count != 1 || strings_count(app->argv) != 1) {
        return fail_usage("no program can be given, but to keelrun --dvm", app->argv[0]);
    }
    if (app->count || app->per_node || request->dry_run || request->timeout_s) {
        return fail_usage("what says how a job runs belongs to keelrun --dvm", NULL);
    }
    if (request->simulate_topo) {
        return fail_usage("--simulate-topo goes with keelrun alone: a DVM's nodes have their own",
                          NULL);
    }
    return true;
}

/* The daemons go on when one is lost. */
static enum cmdline_result make_request(struct run_request *request, const struct words *words)
{
    char reason[512] = "out of memory";
    (void) unsetenv("MPIEXEC_TIMEOUT");
    char **line = make_line(words);
    enum cmdline_result result = CMDLINE_ERROR;
    if (line && param_override("enable_recovery", "1") == ORTE_SUCCESS) {
        result = cmdline_parse(request, (int) strings_count(line), line, reason, sizeof(reason));
    }
    strings_free(line);
    if (result == CMDLINE_ERROR) {
        (void) fail_usage(reason, NULL);
    }
    if (result == CMDLINE_RUN && !check(request)) {
        run_request_fini(request);
        return CMDLINE_ERROR;
    }
    if (result == CMDLINE_RUN) {
        request->stand = true;
        request->pty = PTY_NEVER;
        request->window = pty_window();
        free(request->dvm);
        request->dvm = NULL;
    }
    return result;
}

/* --- in the background --- */

static void leave_streams(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= STDERR_FILENO && nothing >= 0; fd++) {
        (void) dup2(nothing, fd);
    }
    fd_close(&nothing);
}

/* The DVM stands: whoever waits for that goes on, and this process has a session of its own. */
static void stands(void *arg)
{
    int *waiter = arg;
    if (*waiter < 0) {
        return;
    }
    (void) setsid();
    leave_streams();
    (void) !fd_write_all(*waiter, "", 1);
    fd_close(waiter);
}

/* In the parent: until the DVM stands, or the child has failed. */
static int await(pid_t child, int end)
{
    char byte;
    int status = 0;
    ssize_t got;
    do {
        got = read(end, &byte, 1);
    } while (got < 0 && errno == EINTR);
    if (got == 1) {
        return 0;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_RUNTIME;
}

/* Returns in the child, with the descriptor to write to; the parent ends here. */
static int fork_away(void)
{
    int ends[2];
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child < 0) {
        exit(run_complain(EXIT_RUNTIME, "cannot fork", strerror(errno)));
    }
    if (child > 0) {
        close(ends[1]);
        exit(await(child, ends[0]));
    }
    close(ends[0]);
    return ends[1];
}

/* --- life --- */

static int stop(const char *file)
{
    char reason[512];
    return submitter_stop(file, STOP_US, reason, sizeof(reason)) == ORTE_SUCCESS
               ? 0
               : run_complain(EXIT_RUNTIME, reason, NULL);
}

static int change(const char *uri, enum talk_change change, const char *hosts)
{
    char reason[512];
    return submitter_change(uri, change, hosts, CHANGE_US, reason, sizeof(reason)) == ORTE_SUCCESS
               ? 0
               : run_complain(EXIT_RUNTIME, reason, NULL);
}

/* It is read here: the DVM may run in another folder. */
static int add_file(const struct words *words)
{
    struct node_list hosts = {0};
    char reason[512], *text = NULL;
    size_t size = 0;
    int status = hostfile_load(&text, &size, words->add_file, true, reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        status = hostfile_parse(&hosts, words->add_file, text, size, reason, sizeof(reason));
    }
    node_list_fini(&hosts);
    int exit_code = status == ORTE_SUCCESS ? change(words->uri, TALK_ADD_FILE, text)
                                           : run_complain(EXIT_USAGE, reason, NULL);
    free(text);
    return exit_code;
}

static int run(struct shepherd *shepherd, const struct words *words, int *waiter)
{
    struct run_request request;
    char reason[512];
    fd_raise_limit();
    enum cmdline_result result = make_request(&request, words);
    if (result != CMDLINE_RUN) {
        shepherd_end(shepherd);
        return result == CMDLINE_DONE ? run_end_of_text() : EXIT_USAGE;
    }
    log_open();
    mca_check_given();
    int exit_code = EXIT_USAGE;
    if (!contact_is_free(words->uri, reason, sizeof(reason))) {
        exit_code = run_complain(EXIT_RUNTIME, reason, NULL);
        shepherd_end(shepherd);
    } else if (fault_open(reason, sizeof(reason)) == ORTE_SUCCESS) {
        exit_code = run_until_end(shepherd, &request, stands, waiter);
    } else {
        (void) fail_usage(reason, NULL);
        shepherd_end(shepherd);
    }
    run_request_fini(&request);
    return exit_code;
}

/* In the background, it and what it forks have none of the caller's streams from the start: whoever
 * reads them waits for their end. */
static int start_shepherd(struct shepherd **shepherd, bool background)
{
    if (!background) {
        return shepherd_start_with(shepherd, keeld_spare_main);
    }
    int ours[] = {fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
                  fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
    leave_streams();
    int error = shepherd_start_with(shepherd, keeld_spare_main);
    for (int i = 0; i < 2 && ours[i] >= 0; i++) {
        (void) dup2(ours[i], STDOUT_FILENO + i);
        fd_close(&ours[i]);
    }
    return error;
}

static int stand(const struct words *words)
{
    struct shepherd *shepherd = NULL;
    fd_fill_standard();
    int waiter = words->daemonize ? fork_away() : -1;
    frontend_block_signals();
    int error = start_shepherd(&shepherd, words->daemonize);
    return error == 0 ? run(shepherd, words, &waiter)
                      : run_complain(EXIT_RUNTIME, "cannot fork", strerror(-error));
}

static int obey(const struct words *words)
{
    if (words->help || words->version) {
        printf(words->help ? "%s" : NAME " (Keel) %s\n", words->help ? help : PACKAGE_VERSION);
        return run_end_of_text();
    }
    if (words->stop) {
        return stop(words->stop);
    }
    if (words->add_file) {
        return add_file(words);
    }
    return words->add      ? change(words->uri, TALK_ADD, words->add)
           : words->remove ? change(words->uri, TALK_REMOVE, words->remove)
                           : stand(words);
}

int main(int argc, char **argv)
{
    struct words words = {0};
    int exit_code = read_words(&words, argv + (argc > 0)) ? obey(&words) : EXIT_USAGE;
    strings_free(words.rest);
    return exit_code;
}
