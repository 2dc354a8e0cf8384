#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/text/reason.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, NODE_BYTES = 64, NAME_BYTES = 64 };
enum { RATE_KEYS = 64, RATE_KEY_BYTES = 64 };

#define RATE_INTERVAL_US 1000000u

int log_verbosity[LOG_LAYERS];

static const char *const layer_names[LOG_LAYERS] = {
    [LOG_BASE] = "base",         [LOG_OOB] = "oob", [LOG_RML] = "rml",
    [LOG_BTL] = "btl",           [LOG_PTL] = "ptl", [LOG_BOOTSTRAP] = "bootstrap",
    [LOG_LAUNCHER] = "launcher",
};
static const char *const level_names[] = {"error", "warning", "info", "debug", "trace"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All guarded by lock. */
static char my_node[NODE_BYTES];
static char my_name[NAME_BYTES];
static void (*my_sink)(void *arg, enum log_level level, const char *line);
static void *my_sink_arg;

static struct param verbose_all =
    PARAM_INT("log_verbose", "0", 0, LOG_TRACE, "",
              "How much every layer logs: 0 warnings, 1 events, 2 details, 3 everything.");
PARAM_ROWS("base", verbose_all);

#define VERBOSE(layer, text)                                           \
    [layer] = PARAM_INT("log_" text "_verbose", "0", 0, LOG_TRACE, "", \
                        "How much the layer " text " logs, if that is more than log_verbose.")
static struct param verbose[LOG_LAYERS] = {
    VERBOSE(LOG_BASE, "base"),         VERBOSE(LOG_OOB, "oob"), VERBOSE(LOG_RML, "rml"),
    VERBOSE(LOG_BTL, "btl"),           VERBOSE(LOG_PTL, "ptl"), VERBOSE(LOG_BOOTSTRAP, "bootstrap"),
    VERBOSE(LOG_LAUNCHER, "launcher"),
};
PARAM_ROWS("base", verbose);
#undef VERBOSE

void log_open(void)
{
    int all = (int) param_int(&verbose_all);
    for (int layer = 0; layer < LOG_LAYERS; layer++) {
        int own = (int) param_int(&verbose[layer]);
        log_set_verbosity((enum log_layer) layer, own > all ? own : all);
    }
}

void log_set_verbosity(enum log_layer layer, int verbosity)
{
    __atomic_store_n(&log_verbosity[layer], verbosity < 0 ? 0 : verbosity, __ATOMIC_RELAXED);
}

void log_set_identity(const char *node, const char *name)
{
    pthread_mutex_lock(&lock);
    snprintf(my_node, sizeof(my_node), "%s", node ? node : "");
    snprintf(my_name, sizeof(my_name), "%s", name ? name : "");
    pthread_mutex_unlock(&lock);
}

void log_set_sink(void (*sink)(void *arg, enum log_level level, const char *line), void *arg)
{
    pthread_mutex_lock(&lock);
    my_sink = sink;
    my_sink_arg = arg;
    pthread_mutex_unlock(&lock);
}

/* What stands in front of the text; the number of characters. The lock is held. */
static size_t prefix_locked(char *line, size_t size, enum log_layer layer, enum log_level level)
{
    int length = snprintf(line, size, "[%s%s%ld%s%s] %s: %s: ", my_node, *my_node ? ":" : "",
                          (long) getpid(), *my_name ? " " : "", my_name,
                          (unsigned) layer < LOG_LAYERS ? layer_names[layer] : "?",
                          level_names[level - LOG_ERROR]);
    return length > 0 ? (size_t) length : 0;
}

static void write_line(const char *line, size_t length)
{
    while (write(STDERR_FILENO, line, length) < 0 && errno == EINTR) {
    }
}

void log_write(enum log_layer layer, enum log_level level, const char *format, ...)
{
    static const char cut[] = "...";
    char line[LINE_BYTES];
    const size_t room = sizeof(line); /* the newline takes the place of the NUL */
    int error = errno;

    pthread_mutex_lock(&lock);
    void (*sink)(void *, enum log_level, const char *) = my_sink;
    void *sink_arg = my_sink_arg;
    size_t length = prefix_locked(line, room, layer, level);
    pthread_mutex_unlock(&lock);

    va_list args;
    va_start(args, format);
    errno = error; /* for %m */
    int text = vsnprintf(line + length, room - length, format, args);
    va_end(args);
    if (text > 0) {
        length += (size_t) text;
    }
    if (length >= room) {
        length = room - 1;
        memcpy(line + length - (sizeof(cut) - 1), cut, sizeof(cut) - 1);
    }
    reason_printable(line); /* an event is one line whatever its text holds */
    if (sink) {
        sink(sink_arg, level, line);
    } else {
        line[length] = '\n';
        write_line(line, length + 1);
    }
    errno = error;
}

/* One key of the rate limiter; free while key is empty. */
struct rate {
    char key[RATE_KEY_BYTES];
    uint64_t last_us; /* when its last line was let through */
    unsigned held_back;
};

static pthread_mutex_t rate_lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by rate_lock. held_back_others: lines of keys that have no entry of their own. */
static struct rate rates[RATE_KEYS];
static unsigned held_back_others;

/* The key's entry, or one that it may take: free, or the oldest that is out of its second. NULL:
 * every entry let a line through within this second, so that strangers with many keys cannot get
 * more than RATE_KEYS lines a second. */
static struct rate *rate_find_locked(const char *key, uint64_t now)
{
    struct rate *oldest = NULL;
    for (struct rate *rate = rates; rate < rates + RATE_KEYS; rate++) {
        if (strcmp(rate->key, key) == 0 && *key) {
            return rate;
        }
        if (!*rate->key || now - rate->last_us >= RATE_INTERVAL_US) {
            if (!oldest || rate->last_us < oldest->last_us) {
                oldest = rate;
            }
        }
    }
    if (oldest) {
        held_back_others += oldest->held_back;
        *oldest = (struct rate){.last_us = 0};
        snprintf(oldest->key, sizeof(oldest->key), "%s", key);
    }
    return oldest;
}

bool log_rate_ok(const char *key, unsigned *suppressed)
{
    char short_key[RATE_KEY_BYTES];
    snprintf(short_key, sizeof(short_key), "%s", *key ? key : "-");
    uint64_t now = clock_us();

    pthread_mutex_lock(&rate_lock);
    struct rate *rate = rate_find_locked(short_key, now);
    bool ok = rate && (rate->last_us == 0 || now - rate->last_us >= RATE_INTERVAL_US);
    if (ok) {
        *suppressed += rate->held_back + held_back_others;
        rate->held_back = held_back_others = 0;
        rate->last_us = now;
    } else if (rate) {
        rate->held_back++;
    } else {
        held_back_others++;
    }
    pthread_mutex_unlock(&rate_lock);
    return ok;
}
