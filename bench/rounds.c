#include <config.h>

#include <bench/rounds.h>

#include <bench/machine.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void rounds_describe(const struct rounds *rounds, const char *more)
{
    printf("rounds      %u, a time limit of %u s%s\n", rounds->count, rounds->limit_s, more);
}

void rounds_run(struct rounds *rounds, void (*run)(void *arg, unsigned round), void *arg)
{
    struct machine_use before;
    struct machine_noise noise = {.all_ms = 0};
    machine_use_read(&before);
    for (unsigned round = 0; round < rounds->count; round++) {
        if (isatty(STDERR_FILENO)) {
            fprintf(stderr, "\rround %u of %u ", round + 1, rounds->count);
        }
        run(arg, round);
    }
    machine_noise_add(&noise, &before);
    printf("others      took %.0f %% of the processors during the runs\n",
           machine_noise_percent(&noise));
}

void rounds_note(struct rounds *rounds, const char *format, ...)
{
    char(*known)[sizeof(rounds->reasons[0])] = rounds->reasons;
    char reason[sizeof(known[0])];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    for (unsigned i = 0; i < rounds->reason_count; i++) {
        if (strcmp(known[i], reason) == 0) {
            return;
        }
    }
    if (rounds->reason_count < ROUNDS_REASONS_MAX) {
        memcpy(known[rounds->reason_count++], reason, sizeof(reason));
    }
}

void rounds_print_reasons(const struct rounds *rounds)
{
    for (unsigned i = 0; i < rounds->reason_count; i++) {
        printf("failed: %s\n", rounds->reasons[i]);
    }
}
