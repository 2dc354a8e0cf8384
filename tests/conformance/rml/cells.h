/* What fills the cells. */
#ifndef TESTS_CONFORMANCE_RML_CELLS_H
#define TESTS_CONFORMANCE_RML_CELLS_H

#include <tests/conformance/rml/matrix.h>

/* sends.c, receives.c */
void send_succeeds(const struct cell *cell);
void receive_succeeds(const struct cell *cell);
void inside_a_callback(const struct cell *cell); /* of a non-blocking operation's own */

/* others.c: the rest that succeeds, and NOT_FOUND */
void enabling_again(const struct cell *cell);
void finalizing(const struct cell *cell); /* no cell of a job after it */
void contact_is_told(const struct cell *cell);
void contact_is_recorded(const struct cell *cell);
void cancelling(const struct cell *cell);
void nothing_to_cancel(const struct cell *cell);

/* refusals.c */
void wrong_arguments(const struct cell *cell);
void nobody_of_that_name(const struct cell *cell);
void nobody_at_that_address(const struct cell *cell);
void works_before(const struct cell *cell); /* and what it posted is checked by worked_before */
void worked_before(void);
void refused_before(const struct cell *cell);
void refused_after(const struct cell *cell);

/* exceptions.c */
void handlers_are_called(const struct cell *cell);
void handlers_are_removed(const struct cell *cell);
void no_handler(const struct cell *cell);
void no_such_handler(const struct cell *cell);
void handlers_before(const struct cell *cell);
void handlers_after(const struct cell *cell);

/* pings.c */
void somebody_answers(const struct cell *cell);
void wrong_pings(const struct cell *cell);
void nobody_answers(const struct cell *cell);
void nobody_answers_in_time(const struct cell *cell);
void pings_before(const struct cell *cell);
void pings_after(const struct cell *cell);

/* checkpoints.c */
void checkpoints_and_restarts(const struct cell *cell);
void no_such_state(const struct cell *cell);
void no_state_now(const struct cell *cell);

/* names.c */
void has_a_name(const struct cell *cell);
void nowhere_for_a_name(const struct cell *cell);
void no_name_after(const struct cell *cell);

/* memory.c */
void without_memory(const struct cell *cell);
void restart_without_memory(const struct cell *cell);

#endif
