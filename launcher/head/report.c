#include <config.h>

#include <launcher/head/report.h>

#include <base/text/json.h>
#include <stdlib.h>

static void begin_member(struct report_line *line, const char *name)
{
    fputs(line->separated ? ", " : "", line->out);
    if (name) {
        json_text(line->out, name);
        fputs(": ", line->out);
    }
    line->separated = true;
}

void report_text(struct report_line *line, const char *name, const char *text)
{
    begin_member(line, name);
    json_text(line->out, text);
}

void report_number(struct report_line *line, const char *name, uint64_t number)
{
    begin_member(line, name);
    fprintf(line->out, "%llu", (unsigned long long) number);
}

void report_seconds(struct report_line *line, const char *name, uint64_t us)
{
    begin_member(line, name);
    fprintf(line->out, "%llu.%06u", (unsigned long long) (us / 1000000u),
            (unsigned) (us % 1000000u));
}

void report_open(struct report_line *line, const char *name, char bracket)
{
    begin_member(line, name);
    fputc(bracket, line->out);
    line->separated = false;
}

void report_close(struct report_line *line, char bracket)
{
    fputc(bracket == '{' ? '}' : ']', line->out);
    line->separated = true;
}

bool report_begin(struct report_line *line, const char *event, uint64_t time_us)
{
    *line = (struct report_line){.out = NULL};
    line->out = open_memstream(&line->text, &line->size);
    if (!line->out) {
        return false;
    }
    fputc('{', line->out);
    report_text(line, "event", event);
    report_seconds(line, "time", time_us);
    return true;
}

char *report_end(struct report_line *line)
{
    fputc('}', line->out);
    if (fclose(line->out) != 0) {
        free(line->text);
        return NULL;
    }
    return line->text;
}
