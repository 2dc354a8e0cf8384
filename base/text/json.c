#include <config.h>

#include <base/text/json.h>

#include <stdbool.h>

/* Bytes of the UTF-8 character here (RFC 3629); 0: there is none. The text ends with 0. */
static size_t utf8_size(const unsigned char *at)
{
    unsigned char least = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char most = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if ((at[0] >= 0x80 && at[0] < 0xc2) || at[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        if (at[i] < least || at[i] > most) {
            return 0;
        }
        least = 0x80;
        most = 0xbf;
    }
    return size;
}

/* A byte that belongs to no UTF-8 character becomes U+FFFD. */
void json_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *) text, *plain = at;
    fputc('"', out);
    while (*at) {
        size_t size = utf8_size(at);
        bool quoted = *at == '"' || *at == '\\';
        bool coded = *at < ' ' || *at == 0x7f || size == 0;
        if (quoted || coded) {
            fwrite(plain, 1, (size_t) (at - plain), out);
            fprintf(out, coded ? "\\u%04x" : "\\%c", size ? *at : 0xfffd);
            plain = at + 1;
        }
        at += size ? size : 1;
    }
    fwrite(plain, 1, (size_t) (at - plain), out);
    fputc('"', out);
}
