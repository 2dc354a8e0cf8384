#include <config.h>

#include <launcher/head/report.h>

#include <base/text/json.h>
#include <stdlib.h>

static void begin_member(struct report_lines *lines, const char *name)
{
    fputs(lines->separated ? ", " : "", lines->out);
    if (name) {
        json_text(lines->out, name);
        fputs(": ", lines->out);
    }
    lines->separated = true;
}

void report_text(struct report_lines *lines, const char *name, const char *text)
{
    begin_member(lines, name);
    json_text(lines->out, text);
}

void report_number(struct report_lines *lines, const char *name, uint64_t number)
{
    begin_member(lines, name);
    fprintf(lines->out, "%llu", (unsigned long long) number);
}

void report_seconds(struct report_lines *lines, const char *name, uint64_t us)
{
    begin_member(lines, name);
    fprintf(lines->out, "%llu.%06u", (unsigned long long) (us / 1000000u),
            (unsigned) (us % 1000000u));
}

void report_open(struct report_lines *lines, const char *name, char bracket)
{
    begin_member(lines, name);
    fputc(bracket, lines->out);
    lines->separated = false;
}

void report_close(struct report_lines *lines, char bracket)
{
    fputc(bracket == '{' ? '}' : ']', lines->out);
    lines->separated = true;
}

void report_begin(struct report_lines *lines, const char *event, uint64_t time_us)
{
    fputc('{', lines->out);
    lines->separated = false;
    report_text(lines, "event", event);
    report_seconds(lines, "time", time_us);
}

void report_end(struct report_lines *lines)
{
    fputs("}\n", lines->out);
}

const char *report_take(struct report_lines *lines)
{
    (void) fseek(lines->out, -1, SEEK_CUR); /* on the last newline */
    fputc('\0', lines->out);
    bool whole = fflush(lines->out) == 0 && !ferror(lines->out);
    rewind(lines->out);
    return whole ? lines->text : NULL;
}

bool report_init(struct report_lines *lines)
{
    *lines = (struct report_lines){.out = NULL};
    lines->out = open_memstream(&lines->text, &lines->size);
    return lines->out != NULL;
}

void report_fini(struct report_lines *lines)
{
    if (lines->out) {
        fclose(lines->out);
    }
    free(lines->text);
}
