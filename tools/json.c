#include <config.h>

#include <tools/json.h>

void json_member(FILE *out, const char *name, const char *text, const char *after)
{
    fprintf(out, "\"%s\":", name);
    if (text) {
        json_text(out, text);
    } else {
        fputs("null", out);
    }
    fputs(after, out);
}
