/* The lines of --report: events of a job, one JSON object a line (docs/report.md). Pure. */
#ifndef LAUNCHER_HEAD_REPORT_H
#define LAUNCHER_HEAD_REPORT_H

#include <keel/types.h>
#include <stdio.h>

struct report_line {
    FILE *out;
    char *text;
    size_t size;
    bool separated; /* a comma comes before the next member */
};

/* A line of this event, at this time in microseconds since 1970. False: no memory. */
bool report_begin(struct report_line *line, const char *event, uint64_t time_us) KEEL_MUST_CHECK;
/* Members; name NULL: an element of a list. */
void report_text(struct report_line *line, const char *name, const char *text);
void report_number(struct report_line *line, const char *name, uint64_t number);
void report_seconds(struct report_line *line, const char *name, uint64_t us);
/* bracket: '{' for an object, '[' for a list; the same closes it. */
void report_open(struct report_line *line, const char *name, char bracket);
void report_close(struct report_line *line, char bracket);
/* The line, malloc'd, without its end; NULL: no memory. */
char *report_end(struct report_line *line) KEEL_MUST_CHECK;

#endif
