/* The log: one line per event on standard error, with layer, level and process.
 *
 *   [node:pid name] layer: level: text
 *
 * Levels: error and warning are always written; info, debug and trace when the parameter
 * log_LAYER_verbose (or log_verbose for all) is at least 1, 2, 3. Any thread; one write a line, so
 * lines of several threads never mix. errno is kept. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <keel/types.h>
#include <stdint.h>

enum log_layer {
    LOG_BASE,
    LOG_OOB,
    LOG_RML,
    LOG_BTL,
    LOG_PTL,
    LOG_BOOTSTRAP,
    LOG_LAUNCHER,
    LOG_LAYERS /* their number */
};

enum log_level { LOG_ERROR = -1, LOG_WARN = 0, LOG_INFO = 1, LOG_DEBUG = 2, LOG_TRACE = 3 };

extern int
    log_verbosity[LOG_LAYERS]; /* set by log_open and log_set_verbosity, read without a lock */

/* Reads the verbosity parameters. Lines written before it appear too, without the name. */
void log_open(void);
/* What stands in front of each line; node and name are copied. */
void log_set_identity(const char *node, const char *name);
void log_set_verbosity(enum log_layer layer, int verbosity);
/* Where lines go instead of standard error; NULL: back. The line is without its newline. */
void log_set_sink(void (*sink)(void *arg, enum log_level level, const char *line), void *arg);
void log_write(enum log_layer layer, enum log_level level, const char *format, ...)
    KEEL_PRINTF(3, 4);

#define log_at(layer, level, ...)                    \
    do {                                             \
        if ((int) (level) <= log_verbosity[layer]) { \
            log_write(layer, level, __VA_ARGS__);    \
        }                                            \
    } while (0)
#define log_error(layer, ...) log_at(layer, LOG_ERROR, __VA_ARGS__)
#define log_warn(layer, ...) log_at(layer, LOG_WARN, __VA_ARGS__)
#define log_info(layer, ...) log_at(layer, LOG_INFO, __VA_ARGS__)
#define log_debug(layer, ...) log_at(layer, LOG_DEBUG, __VA_ARGS__)
#define log_trace(layer, ...) log_at(layer, LOG_TRACE, __VA_ARGS__)

/* For events that a stranger can cause: true at most once a second for each key (a short text, say
 * the peer's address); the number of lines held back since is added to *suppressed. */
bool log_rate_ok(const char *key, unsigned *suppressed);

#endif
