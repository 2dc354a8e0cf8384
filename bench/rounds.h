/* Rounds in which each of the programs that are compared takes its turn: what the programs that
 * measure have in common. */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

enum { ROUNDS_REASONS_MAX = 32 };

struct rounds {
    unsigned count, limit_s; /* the second: of one run */
    char reasons[ROUNDS_REASONS_MAX][320];
    unsigned reason_count;
};

/* Says how many there are; more goes behind that. */
void rounds_describe(const struct rounds *rounds, const char *more);
/* Calls run for each, and says what others took of the processors meanwhile. */
void rounds_run(struct rounds *rounds, void (*run)(void *arg, unsigned round), void *arg);

/* Keeps why a run failed, each text once. */
void rounds_note(struct rounds *rounds, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rounds_print_reasons(const struct rounds *rounds);

#endif
