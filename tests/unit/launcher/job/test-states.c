/* The tables of daemons and jobs: sound in themselves, and drawn in docs/launch-states.md. */
#include <config.h>

#include <launcher/job/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static const struct {
    const struct fsm *fsm;
    uint8_t states, events; /* their numbers */
} machines[] = {
    {&dvm_fsm, DVM_OVER + 1, 8},
    {&dvm_daemon_fsm, DAEMON_STATES, 8},
    {&job_fsm, JOB_DONE + 1, 12},
    {&job_part_fsm, PART_STATES, 6},
};
enum { MACHINES = sizeof(machines) / sizeof(*machines) };

/* The page as one text; free it. */
static char *read_page(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/docs/launch-states.md", getenv("KEEL_TEST_SRCDIR"));
    FILE *file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    char *text = calloc(1, 65536);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_lt(fread(text, 1, 65535, file), 65535);
    (void) fclose(file);
    return text;
}

/* As Mermaid draws it. */
static void draw(const struct fsm *fsm, char *text, size_t size)
{
    int used = snprintf(text, size, "stateDiagram-v2\n    [*] --> %s\n", fsm->states[0]);
    for (uint32_t i = 0; i < fsm->row_count; i++) {
        const struct fsm_row *row = &fsm->rows[i];
        const char *action = fsm->actions[row->action];
        used += snprintf(text + used, size - (size_t) used, "    %s --> %s: %s%s%s\n",
                         fsm->states[row->state], fsm->states[row->next], fsm->events[row->event],
                         action[0] ? " / " : "", action);
        ck_assert_int_lt(used, (int) size);
    }
}

START_TEST(the_page_shows_the_tables)
{
    char *page = read_page();
    int missing = 0;
    for (size_t i = 0; i < MACHINES; i++) {
        char expected[8192];
        draw(machines[i].fsm, expected, sizeof(expected));
        if (!strstr(page, expected)) {
            printf("# docs/launch-states.md is to have:\n%s", expected);
            missing++;
        }
    }
    free(page);
    ck_assert_int_eq(missing, 0);
}
END_TEST

START_TEST(no_row_is_hidden_by_another)
{
    for (size_t i = 0; i < MACHINES; i++) {
        const struct fsm *fsm = machines[i].fsm;
        for (uint32_t k = 0; k < fsm->row_count; k++) {
            const struct fsm_row *row = &fsm->rows[k];
            ck_assert_ptr_eq(fsm_row(fsm, row->state, row->event), row);
        }
    }
}
END_TEST

static bool is_reached(const struct fsm *fsm, uint8_t state)
{
    for (uint32_t i = 0; i < fsm->row_count; i++) {
        if (fsm->rows[i].next == state && fsm->rows[i].state != state) {
            return true;
        }
    }
    return state == 0;
}

static bool is_heard(const struct fsm *fsm, uint8_t event)
{
    for (uint32_t i = 0; i < fsm->row_count; i++) {
        if (fsm->rows[i].event == event) {
            return true;
        }
    }
    return false;
}

START_TEST(every_state_is_reached_and_every_event_heard)
{
    for (size_t i = 0; i < MACHINES; i++) {
        for (uint8_t state = 0; state < machines[i].states; state++) {
            ck_assert(is_reached(machines[i].fsm, state));
        }
        for (uint8_t event = 0; event < machines[i].events; event++) {
            ck_assert(is_heard(machines[i].fsm, event));
        }
    }
}
END_TEST

UNIT_MAIN("the tables of daemons and jobs")
