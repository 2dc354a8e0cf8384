#include <config.h>

#include <base/settings/param.h>
#include <launcher/front/output.h>
#include <launcher/front/progress.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wireup/proto.h>

#define AGAIN_US 500000u

enum { LINE_BYTES = 512, COLUMNS_DEFAULT = 80, CLEAR_WAIT_MS = 1000 };

static struct param delay =
    PARAM_INT("progress_delay_ms", "2000", 0, 86400000, "ms",
              "On a terminal: after this time keelrun tells how many nodes have called home, and "
              "which have not (0: never)");
PARAM_ROWS("launcher", delay);

size_t progress_print(char *text, size_t size, size_t columns, uint32_t total, uint32_t waiting,
                      const char *nodes)
{
    uint32_t home = total - waiting;
    size_t room = columns < size ? columns : size; /* with the NUL: the last column stays free */
    if (room == 0) {
        return 0;
    }
    int wanted = snprintf(text, room, "%s: %u of %u nodes %s called home; waiting for %s",
                          output_name(), home, total, home == 1 ? "has" : "have", nodes);
    if (wanted < 0) {
        return 0;
    }
    size_t used = (size_t) wanted < room ? (size_t) wanted : room - 1;
    if ((size_t) wanted > used && used > 3) {
        memcpy(text + used - 3, "...", 3);
    }
    for (size_t i = 0; i < used; i++) {
        text[i] = text[i] < ' ' || text[i] > '~' ? '?' : text[i];
    }
    return used;
}

/* In the background a terminal may stop who writes. */
static bool may_write(int wait_ms)
{
    struct pollfd wait = {.fd = STDERR_FILENO, .events = POLLOUT};
    return tcgetpgrp(STDERR_FILENO) == getpgrp() && poll(&wait, 1, wait_ms) > 0;
}

static size_t columns_now(void)
{
    struct winsize window;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    return known ? window.ws_col : COLUMNS_DEFAULT;
}

/* A terminal of any kind knows blanks and carriage returns. */
static void put_line(const char *text, size_t size, size_t before)
{
    char line[2 * LINE_BYTES + 2];
    size_t blanks = before > size ? before - size : 0;
    int length = snprintf(line, sizeof(line), "\r%.*s%*s\r", (int) size, text, (int) blanks, "");
    (void) !write(STDERR_FILENO, line, (size_t) length);
}

void progress_show(struct progress *progress, uint32_t total, uint32_t waiting, const char *nodes)
{
    char text[LINE_BYTES];
    if (waiting > 0 && waiting <= total && may_write(0)) {
        size_t size = progress_print(text, sizeof(text), columns_now(), total, waiting, nodes);
        put_line(text, size, progress->shown);
        progress->shown = size;
    }
}

void progress_clear(struct progress *progress)
{
    if (progress->shown > 0 && may_write(CLEAR_WAIT_MS)) {
        put_line("", 0, progress->shown);
    }
    progress->shown = 0;
}

void progress_end(struct progress *progress)
{
    loop_timer_stop(&progress->timer);
    progress_clear(progress);
}

static void ask(struct loop_timer *timer)
{
    struct progress *progress = container_of(timer, struct progress, timer);
    loop_timer_start(&progress->timer, AGAIN_US);
    (void) channel_send(progress->hnp, proto_new(FRONT_ASK_PROGRESS, ""));
}

void progress_start(struct progress *progress, struct loop *loop, struct channel_end *hnp)
{
    *progress = (struct progress){.hnp = hnp};
    loop_timer_init(&progress->timer, loop, ask);
    if (isatty(STDERR_FILENO) && param_int(&delay) > 0) {
        loop_timer_start(&progress->timer, (uint64_t) param_int(&delay) * 1000u);
    }
}
