#include <config.h>

#include <base/loop/lines.h>

#include <unistd.h>

static void end_line(struct lines *lines)
{
    lines->line[lines->used] = '\0';
    lines->used = 0;
    lines->take(lines, lines->line);
}

static void take(struct lines *lines, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] != '\n') {
            lines->line[lines->used++] = data[i];
        }
        if (data[i] == '\n' || lines->used + 1 == sizeof(lines->line)) {
            end_line(lines);
        }
    }
}

/* False: it is at its end. */
static bool read_some(struct lines *lines)
{
    char data[4096];
    ssize_t got;
    while ((got = read(lines->fd, data, sizeof(data))) > 0) {
        take(lines, data, (size_t) got);
    }
    return got < 0;
}

static void on_ready(struct loop_io *io, short events)
{
    struct lines *lines = container_of(io, struct lines, io);
    (void) events;
    if (!read_some(lines)) {
        lines_close(lines);
        if (lines->ended) {
            lines->ended(lines);
        }
    }
}

void lines_init(struct lines *lines, struct loop *loop,
                void (*take_line)(struct lines *lines, const char *line))
{
    *lines = (struct lines){.fd = -1, .take = take_line};
    loop_io_init(&lines->io, loop, -1, on_ready);
}

void lines_open(struct lines *lines, int fd)
{
    lines->fd = lines->io.fd = fd;
    loop_io_watch(&lines->io, EV_READ);
}

void lines_read(struct lines *lines)
{
    if (lines->fd >= 0) {
        (void) read_some(lines);
    }
}

void lines_close(struct lines *lines)
{
    lines_read(lines);
    if (lines->used > 0) {
        end_line(lines);
    }
    lines_drop(lines);
}

void lines_drop(struct lines *lines)
{
    loop_io_watch(&lines->io, 0);
    if (lines->fd >= 0) {
        close(lines->fd);
        lines->fd = -1;
    }
}
