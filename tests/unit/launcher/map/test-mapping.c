/* The cases of mapping.cases, a TAP point for each. */
#include <config.h>

#include <launcher/map/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 512, TEXT = 4096, NAMES = 16, COLUMNS = 64 };

struct named_topo {
    char name[32];
    struct topo topo;
    struct topo_thread threads[COLUMNS];
};

struct mapping_case {
    char title[LINE];
    char run[LINE];
    char ended[LINE], closed[LINE], add[LINE]; /* of ranks that are added */
    char on[NAMES][2][32];                     /* node, topology */
    size_t on_count;
    char files[NAMES][LINE]; /* their names */
    size_t file_count;
    bool hostfile;
    char expected[TEXT]; /* lines as they come */
};

static struct named_topo topos[NAMES];
static size_t topo_count;
static unsigned line_number, ran, failed;

static void give_up(const char *what, const char *text)
{
    printf("Bail out! mapping.cases:%u: %s: %s\n", line_number, what, text);
    exit(EXIT_FAILURE);
}

/* --- topologies --- */

static struct topo *find_topo(const char *name)
{
    for (size_t i = 0; i < topo_count; i++) {
        if (strcmp(topos[i].name, name) == 0) {
            return &topos[i].topo;
        }
    }
    give_up("no such topology", name);
    return NULL;
}

static void begin_topo(const char *name)
{
    struct named_topo *made = &topos[topo_count++];
    if (topo_count == NAMES) {
        give_up("too many topologies", name);
    }
    snprintf(made->name, sizeof(made->name), "%s", name);
    made->topo.threads = made->threads;
    for (uint32_t i = 0; i < COLUMNS; i++) {
        made->threads[i].usable = true;
        made->threads[i].object[TOPO_HWTHREAD] = i;
    }
}

static void set_cell(struct topo_thread *thread, const char *row, const char *word)
{
    static const char *const rows[] = {"", "core", "l1", "l2", "l3", "numa", "package"};
    uint32_t number = *word == '-' ? TOPO_NONE : (uint32_t) strtoul(word, NULL, 10);
    if (strcmp(row, "kernel") == 0) {
        thread->os = number;
    } else if (strcmp(row, "usable") == 0) {
        thread->usable = *word == '+';
    } else {
        unsigned level = TOPO_CORE;
        while (level < TOPO_LEVELS && strcmp(rows[level], row) != 0) {
            level++;
        }
        if (level == TOPO_LEVELS) {
            give_up("no such row", row);
        }
        thread->object[level] = number;
    }
}

static void read_row(const char *row, char *cells)
{
    struct named_topo *made = &topos[topo_count - 1];
    uint32_t column = 0;
    if (strcmp(row, "quota") == 0) {
        made->topo.quota = (uint32_t) strtoul(cells, NULL, 10);
        return;
    }
    for (char *word = strtok(cells, " "); word; word = strtok(NULL, " ")) {
        set_cell(&made->threads[column++], row, word);
    }
    if (made->topo.count && made->topo.count != column) {
        give_up("as many columns are needed as in the row before", row);
    }
    made->topo.count = column;
}

/* --- a case --- */

static void write_file(struct mapping_case *made, const char *name, const char *lines)
{
    FILE *file = fopen(name, "we");
    if (!file || made->file_count == NAMES) {
        give_up("cannot write", name);
        return;
    }
    snprintf(made->files[made->file_count++], LINE, "%s", name);
    for (; *lines; lines++) {
        putc(*lines == ';' ? '\n' : *lines, file);
    }
    putc('\n', file);
    fclose(file);
}

static void read_on(struct mapping_case *made, char *words)
{
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        char *colon = strchr(word, ':');
        if (!colon || made->on_count == NAMES) {
            give_up("NODE:TOPOLOGY is needed", word);
            return;
        }
        *colon = '\0';
        snprintf(made->on[made->on_count][0], 32, "%s", word);
        snprintf(made->on[made->on_count++][1], 32, "%s", colon + 1);
    }
}

static void know_topologies(const struct mapping_case *made, struct job_plan *plan)
{
    for (uint32_t node = 0; node < plan->node_count; node++) {
        for (size_t i = 0; i < made->on_count; i++) {
            if (strcmp(plan->nodes[node].name, made->on[i][0]) == 0) {
                plan->nodes[node].topo = find_topo(made->on[i][1]);
            }
        }
    }
}

/* The plan in the words of the file. */
static void describe(const struct job_plan *plan, const struct run_request *request, char *text)
{
    FILE *out = fmemopen(text, TEXT, "w");
    for (uint32_t node = 0; out && node < plan->node_count; node++) {
        uint32_t local = 0;
        for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
            if (plan->node_of[rank] == node) {
                fprintf(out, "%s%s%u", local ? "" : plan->nodes[node].name, " ", rank);
                fprintf(out, request->app_count > 1 ? "/%s" : "",
                        request->apps[plan->app_of[rank]].argv[0]);
                fprintf(out, plan->cpus[rank][0] ? "=%s" : "", plan->cpus[rank]);
                fputs(plan->local_rank_of[rank] == local++ ? "" : " (its local rank is wrong)",
                      out);
            }
        }
        fputs(local ? "\n" : "", out);
    }
    if (out) {
        fclose(out);
    }
}

/* Numbers with blanks between them, as flags, malloc'd. */
static bool *read_flags(const char *numbers, uint32_t count)
{
    char text[LINE];
    bool *flags = calloc(count + 1, sizeof(*flags));
    snprintf(text, sizeof(text), "%s", numbers);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        unsigned long number = strtoul(word, NULL, 10);
        if (number >= count) {
            give_up("no such rank or node", word);
        }
        flags[number] = true;
    }
    return flags;
}

/* Adds what the line "add" says to the plan, in which some ranks have ended. */
static int add(const struct mapping_case *made, struct job_plan *plan, char *reason, char *note)
{
    char text[LINE], *argv[64] = {(char *) "keelrun"};
    int argc = 1;
    struct run_request request;
    uint32_t unbound = 0;
    snprintf(text, sizeof(text), "%s", made->add);
    for (char *word = strtok(text, " "); word && argc < 63; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    if (cmdline_parse(&request, argc, argv, reason, TEXT - 6) != CMDLINE_RUN) {
        return ORTE_ERR_BAD_PARAM;
    }
    bool *ended = read_flags(made->ended, plan->rank_count);
    bool *closed = read_flags(made->closed, plan->node_count);
    struct plan_use use = {.ended = ended,
                           .ended_count = plan->rank_count,
                           .closed = closed,
                           .again = !strstr(made->add, "ppr")};
    int status = job_plan_extend(plan, &request, &use, &unbound, reason, TEXT - 6);
    if (unbound > 0) {
        snprintf(note, LINE, "%u are not bound", unbound);
    }
    free(ended);
    free(closed);
    run_request_fini(&request);
    return status;
}

/* What the command line gives: the plan, or the reason of an error behind "error ". */
static void run(const struct mapping_case *made, char *got, char *note)
{
    char text[2 * LINE], *reason = got + 6, *argv[64] = {(char *) "keelrun"};
    int argc = 1;
    struct run_request request;
    struct job_plan plan = {0};
    struct allocation none = {0};
    snprintf(text, sizeof(text), "%s%s", made->hostfile ? "--hostfile h " : "", made->run);
    for (char *word = strtok(text, " "); word && argc < 63; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    strcpy(got, "error ");
    enum cmdline_result read = cmdline_parse(&request, argc, argv, reason, TEXT - 6);
    if (read != CMDLINE_RUN) {
        return;
    }
    int status = job_plan_nodes(&plan, &request, &none, reason, TEXT - 6);
    if (status == ORTE_SUCCESS) {
        know_topologies(made, &plan);
        status = job_plan_map(&plan, &request, reason, TEXT - 6);
    }
    if (status == ORTE_SUCCESS) {
        snprintf(note, LINE, "%s", plan.note ? plan.note : "");
    }
    if (status == ORTE_SUCCESS && made->add[0]) {
        status = add(made, &plan, reason, note);
    }
    if (status == ORTE_SUCCESS) {
        describe(&plan, &request, got);
    }
    job_plan_fini(&plan);
    run_request_fini(&request);
}

/* Fills in text's first line that begins with word; false: there is none. */
static bool take_line(char *text, const char *word, char *rest)
{
    char *at = strstr(text, word);
    if (!at || (at > text && at[-1] != '\n')) {
        return false;
    }
    snprintf(rest, LINE, "%.*s", (int) strcspn(at + strlen(word), "\n"), at + strlen(word));
    at += strcspn(at, "\n");
    *strstr(text, word) = '\0';
    return true;
}

static void report(const struct mapping_case *made, const char *got, const char *note)
{
    char expected[TEXT], error[LINE] = "", said[LINE] = "";
    snprintf(expected, sizeof(expected), "%s", made->expected);
    bool refused = take_line(expected, "error ", error);
    bool noted = take_line(expected, "note ", said);
    bool right = refused
                     ? strncmp(got, "error ", 6) == 0 && strstr(got, error)
                     : strcmp(got, expected) == 0 && (noted ? strstr(note, said) != NULL : !*note);
    printf("%sok %u - %s\n", right ? "" : "not ", ++ran, made->title);
    if (!right) {
        failed++;
        printf("# keelrun %s\n# expected:\n%s# got:\n%s\n# note: %s\n", made->run, made->expected,
               got, note);
    }
}

static void end_case(struct mapping_case *made)
{
    char got[TEXT] = "", note[LINE] = "";
    if (made->title[0]) {
        run(made, got, note);
        report(made, got, note);
    }
    for (size_t i = 0; i < made->file_count; i++) {
        unlink(made->files[i]);
    }
    memset(made, 0, sizeof(*made));
}

/* --- the file --- */

static void read_line(struct mapping_case *made, char *line)
{
    size_t size = strcspn(line, " ");
    char *rest = line + size + strspn(line + size, " "), whole[LINE + 2];
    snprintf(whole, sizeof(whole), "%s\n", line);
    line[size] = '\0';
    if (strcmp(line, "topology") == 0) {
        begin_topo(rest);
    } else if (strcmp(line, "case") == 0) {
        end_case(made);
        snprintf(made->title, LINE, "%s", rest);
    } else if (!made->title[0]) {
        read_row(line, rest);
    } else if (strcmp(line, "on") == 0) {
        read_on(made, rest);
    } else if (strcmp(line, "hostfile") == 0) {
        write_file(made, "h", rest);
        made->hostfile = true;
    } else if (strcmp(line, "file") == 0) {
        char *lines = strchr(rest, ' ');
        *lines = '\0';
        write_file(made, rest, lines + 1);
    } else if (strcmp(line, "run") == 0) {
        snprintf(made->run, LINE, "%s", rest);
    } else if (strcmp(line, "ended") == 0) {
        snprintf(made->ended, LINE, "%s", rest);
    } else if (strcmp(line, "closed") == 0) {
        snprintf(made->closed, LINE, "%s", rest);
    } else if (strcmp(line, "add") == 0) {
        snprintf(made->add, LINE, "%s", rest);
    } else {
        strncat(made->expected, whole, TEXT - strlen(made->expected) - 1);
    }
}

int main(void)
{
    static struct mapping_case made;
    char line[LINE], path[LINE], folder[] = "/tmp/keel-mapping-XXXXXX";
    const char *sources = getenv("KEEL_TEST_SRCDIR");
    snprintf(path, sizeof(path), "%s/tests/unit/launcher/map/mapping.cases",
             sources ? sources : "..");
    FILE *file = fopen(path, "re");
    if (!file || !mkdtemp(folder) || chdir(folder) != 0) {
        give_up("cannot read", path);
        return EXIT_FAILURE;
    }
    while (fgets(line, sizeof(line), file)) {
        line_number++;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] && line[0] != '#') {
            read_line(&made, line);
        }
    }
    end_case(&made);
    fclose(file);
    (void) rmdir(folder);
    printf("1..%u\n", ran);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
