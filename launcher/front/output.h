/* Where the ranks' output goes: keelrun's stdout and stderr, files, or both, with tags line by line
 * if asked for. */
#ifndef LAUNCHER_FRONT_OUTPUT_H
#define LAUNCHER_FRONT_OUTPUT_H

#include <base/loop/loop.h>
#include <launcher/request/output_request.h>

struct output;

/* Both on the loop. */
struct output_ops {
    /* Bytes from this source have been written or dropped. */
    void (*written)(void *arg, uint32_t source, uint32_t bytes);
    /* At most once for stdout (1) and stderr (2): what comes is dropped from now on. */
    void (*failed)(void *arg, uint8_t stream, int error);
};

int output_create(struct output **output, struct loop *loop, const struct output_request *request,
                  const struct output_ops *ops, void *arg) KEEL_MUST_CHECK;
/* Ends the writers' threads; what they have not written is dropped. NULL is allowed. */
void output_destroy(struct output *output);
/* The output has ended: gives on unfinished lines; idle is called once everything is written,
 * perhaps before this returns. */
void output_finish(struct output *output, void (*idle)(void *arg));
/* Takes a copy; written tells the source when the bytes are out, or on their way to nowhere. */
void output_put(struct output *output, const struct output_origin *origin, const uint8_t *data,
                size_t size);
/* A line as it is, for stdout (1) or stderr (2). */
void output_plain(struct output *output, int stream, const char *text);
/* Is any output lost or not written yet, of the ranks or of the launcher? */
bool output_is_lost(const struct output *output);
/* What such lines begin with: this program's name. */
const char *output_name(void);
/* A line of the launcher itself, for stderr: behind the ranks' output. */
void output_line(struct output *output, const char *text);
/* Writes such a line at once, ahead of what still waits. Blocks for 1 s at most. False: nobody
 * reads, and the line is lost. */
bool output_line_now(const char *text);

#endif
