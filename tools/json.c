#include <config.h>

#include <stddef.h>
#include <tools/json.h>

/* The bytes of the UTF-8 character at text; 0: it is none. */
static size_t character(const unsigned char *text)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = text[0] < 0x80           ? 1
                  : (text[0] >> 5) == 0x6  ? 2
                  : (text[0] >> 4) == 0xe  ? 3
                  : (text[0] >> 3) == 0x1e ? 4
                                           : 0;
    unsigned code = text[0] & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (text[i] & 0x3fu);
    }
    return size < 2 || (code >= least[size] && code <= 0x10ffff && code >> 11 != 0x1b) ? size : 0;
}

void json_string(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *) text;
    fputc('"', out);
    while (*at) {
        size_t size = character(at);
        if (size == 0) {
            fputs("\\ufffd", out);
        } else if (*at == '"' || *at == '\\') {
            fprintf(out, "\\%c", *at);
        } else if (*at < ' ') {
            fprintf(out, "\\u%04x", *at);
        } else {
            fwrite(at, 1, size, out);
        }
        at += size > 0 ? size : 1;
    }
    fputc('"', out);
}

void json_member(FILE *out, const char *name, const char *text, const char *after)
{
    fprintf(out, "\"%s\":", name);
    if (text) {
        json_string(out, text);
    } else {
        fputs("null", out);
    }
    fputs(after, out);
}
