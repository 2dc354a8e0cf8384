#include <config.h>

#include <launcher/plm/step.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wireup/proto.h>

/* The srun that keelrun starts ends the step itself when a task has ended, but no sooner than 1 s
 * later (--wait): what comes before that is from somebody else. */
#define SETTLING_US 800000u

/* "slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22T15:02:21 DUE TO TIME LIMIT
 * ***"; scancel gives no reason, and behind a comma is where to read more. */
bool step_is_cancelled(const char *line, char *reason, size_t size)
{
    static const char step[] = "*** STEP ", due[] = " DUE TO ";
    const char *begin = strstr(line, step);
    const char *cancelled = begin ? strstr(begin, " CANCELLED AT ") : NULL;
    if (!cancelled) {
        return false;
    }
    const char *id = begin + sizeof(step) - 1, *why = strstr(cancelled, due);
    why = why ? why + sizeof(due) - 1 : "";
    int id_size = (int) strcspn(id, " "), why_size = (int) strcspn(why, ",*");
    while (why_size > 0 && why[why_size - 1] == ' ') {
        why_size--;
    }
    snprintf(reason, size, "Slurm has cancelled step %.*s%s%.*s", id_size, id,
             why_size > 0 ? ": " : "", why_size, why);
    char *text = strchr(reason, ':');
    for (; text && *text; text++) {
        *text = (char) tolower((unsigned char) *text);
    }
    return true;
}

/* "srun: error: n[1-2]: tasks 0-1: Killed" */
bool step_is_end_of_tasks(const char *line, char *nodes, char *how)
{
    return sscanf(line, "srun: error: %1023[^:]: %127[^\n]", nodes, how) == 2 &&
           strncmp(how, "task", 4) == 0;
}

/* "-K", "-K1", "--kill-on-bad-exit", which may be shortened, and that with "=1"; 0 for no. The last
 * one counts. */
bool step_is_killed_on_bad_exit(const char *options)
{
    static const char name[] = "--kill-on-bad-exit", blanks[] = " \t";
    bool is_killed = false;
    for (const char *word = options + strspn(options, blanks); *word;
         word += strspn(word, blanks)) {
        size_t size = strcspn(word, blanks), name_size = strcspn(word, " \t=");
        bool is_long = name_size > 2 && strncmp(word, name, name_size) == 0;
        if (is_long || strncmp(word, "-K", 2) == 0) {
            is_killed = word[size - 1] != '0';
        }
        word += size;
    }
    return is_killed;
}

bool step_is_settled(const struct step *step)
{
    return step->nodes[0] == '\0';
}

void step_settle(struct step *step)
{
    if (step_is_settled(step)) {
        return;
    }
    loop_timer_stop(&step->settling);
    if (!step->reason[0] && step->daemons_ended) {
        step->daemons_ended(step, step->nodes, step->how);
    }
    step->nodes[0] = '\0';
    if (step->settled) {
        step->settled(step);
    }
}

static void settling_over(struct loop_timer *timer)
{
    step_settle(container_of(timer, struct step, settling));
}

/* What ends when Slurm has ended the step is no reason; the first end of tasks is the one that
 * counts. */
static void look_for_reasons(struct step *step, const char *line)
{
    char nodes[STEP_LINE_MAX], how[STEP_REASON_MAX];
    if (step->reason[0]) {
        return;
    }
    if (step_is_cancelled(line, step->reason, sizeof(step->reason))) {
        step_settle(step);
        return;
    }
    if (!step_is_settled(step) || !step_is_end_of_tasks(line, nodes, how)) {
        return;
    }
    strcpy(step->nodes, nodes);
    strcpy(step->how, how);
    if (step->kill_on_bad_exit) {
        step_settle(step);
    } else {
        loop_timer_start(&step->settling, SETTLING_US);
    }
}

static void take_line(struct lines *lines, const char *line)
{
    struct step *step = container_of(lines, struct step, lines);
    look_for_reasons(step, line);
    channel_send(step->front, proto_new(FRONT_PLAIN, "cs", (uint8_t) STDERR_FILENO, line));
}

static void lines_ended(struct lines *lines)
{
    step_settle(container_of(lines, struct step, lines));
}

void step_init(struct step *step, struct loop *loop, struct channel_end *front)
{
    *step = (struct step){.front = front};
    lines_init(&step->lines, loop, take_line);
    step->lines.ended = lines_ended;
    loop_timer_init(&step->settling, loop, settling_over);
}

void step_open(struct step *step, int fd)
{
    lines_open(&step->lines, fd);
}

void step_read(struct step *step)
{
    lines_read(&step->lines);
}

void step_close(struct step *step)
{
    lines_close(&step->lines);
    step_settle(step);
}

void step_fini(struct step *step)
{
    loop_timer_stop(&step->settling);
    lines_drop(&step->lines);
}
