/* keelrun's own standard input, output and error, each served by a thread of its own.
 *
 * Inherited descriptors may be shared with other processes, so they are never made non-blocking,
 * and a reader or writer at their other end may be slow or stopped: only the thread waits for it. A
 * thread is made when there is something to do for it, and blocks all signals: a broken pipe is an
 * error, and a terminal's job control never stops keelrun for it. It waits in poll, where it is
 * ended by an eventfd; one that is caught in read or write is left behind. Where no thread can be
 * made, the loop reads and writes what the descriptor has or takes without waiting; SIGPIPE has to
 * be ignored for that. The end functions are not called from within the callbacks. */
#ifndef LAUNCHER_FRONT_STDIO_H
#define LAUNCHER_FRONT_STDIO_H

#include <base/loop/loop.h>
#include <keel/types.h>

struct stdio_writer;

struct stdio_writer_ops {
    /* On the loop: so many bytes more are written, or dropped after an error. */
    void (*written)(void *arg, size_t bytes);
    /* On the loop, at most once: nothing more can be written (an errno: EPIPE, ENOSPC, ...). What
     * comes after it is dropped. */
    void (*failed)(void *arg, int error);
};

/* fd is borrowed; at most limit bytes wait at a time. */
int stdio_writer_create(struct stdio_writer **writer, struct loop *loop, int fd, size_t limit,
                        const struct stdio_writer_ops *ops, void *arg) KEEL_MUST_CHECK;
/* On the loop; never blocks. Takes all bytes, or none: false, they do not fit, or there is no
 * memory for them. */
bool stdio_writer_put(struct stdio_writer *writer, const void *data, size_t size) KEEL_MUST_CHECK;
/* How many bytes fit now; on the loop. */
size_t stdio_writer_room(const struct stdio_writer *writer);
/* Ends the writer at once; no callback comes any more. Returns how many bytes it has not written; a
 * piece of them may be on its way. NULL is allowed. */
size_t stdio_writer_end(struct stdio_writer *writer);

struct stdio_reader;

struct stdio_reader_ops {
    /* On the loop; data is borrowed for the time of the call. */
    void (*data)(void *arg, const void *data, size_t size);
    /* On the loop, once, after all data. error is 0 at the end of the file, else an errno. A
     * descriptor that is closed or a terminal of which we are in the background counts as ended. */
    void (*ended)(void *arg, int error);
};

int stdio_reader_create(struct stdio_reader **reader, struct loop *loop, int fd,
                        const struct stdio_reader_ops *ops, void *arg) KEEL_MUST_CHECK;
/* On the loop: so many bytes more may be read. Nothing is read without it, so what nobody wants
 * stays in the terminal for the shell. 0: looks again whether the terminal is still ours. */
void stdio_reader_allow(struct stdio_reader *reader, size_t bytes);
/* Ends the reader at once; no callback comes any more. NULL is allowed. */
void stdio_reader_end(struct stdio_reader *reader);

#endif
