/* The lines of --report: events of a job, one JSON object a line (docs/report.md). Pure. */
#ifndef LAUNCHER_HEAD_REPORT_H
#define LAUNCHER_HEAD_REPORT_H

#include <keel/types.h>
#include <stdio.h>

/* Those that were written since they were last taken. */
struct report_lines {
    FILE *out; /* owned, as is text */
    char *text;
    size_t size;
    bool separated; /* a comma comes before the next member */
};

/* False: no memory. */
bool report_init(struct report_lines *lines) KEEL_MUST_CHECK;
void report_fini(struct report_lines *lines); /* all zero is allowed */
/* A line of this event, at this time in microseconds since 1970. */
void report_begin(struct report_lines *lines, const char *event, uint64_t time_us);
/* Members; name NULL: an element of a list. */
void report_text(struct report_lines *lines, const char *name, const char *text);
void report_number(struct report_lines *lines, const char *name, uint64_t number);
void report_seconds(struct report_lines *lines, const char *name, uint64_t us);
/* bracket: '{' for an object, '[' for a list; the same closes it. */
void report_open(struct report_lines *lines, const char *name, char bracket);
void report_close(struct report_lines *lines, char bracket);
void report_end(struct report_lines *lines);
/* All lines, with newlines between them; "" for none. Valid until the next one begins. NULL: no
 * memory. */
const char *report_take(struct report_lines *lines) KEEL_MUST_CHECK;

#endif
