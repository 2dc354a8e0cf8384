#include <config.h>

#include <launcher/request/nodes/span.h>

#include <string.h>

static const char blank[] = " \t\r\v\f";

static bool is_blank(char c)
{
    return c && strchr(blank, c);
}

bool lines_next(struct lines *lines, struct span *line)
{
    struct span *text = &lines->text;
    if (text->size == 0) {
        return false;
    }
    const char *end = memchr(text->at, '\n', text->size);
    *line = (struct span){text->at, end ? (size_t) (end - text->at) : text->size};
    size_t used = line->size + (end != NULL);
    text->at += used;
    text->size -= used;
    const char *comment = memchr(line->at, '#', line->size);
    line->size = comment ? (size_t) (comment - line->at) : line->size;
    lines->number++;
    return true;
}

static struct span trim(struct span text)
{
    while (text.size > 0 && is_blank(text.at[0])) {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && is_blank(text.at[text.size - 1])) {
        text.size--;
    }
    return text;
}

struct span span_word(struct span *line)
{
    *line = trim(*line);
    struct span word = {line->at, 0};
    for (bool joined = false; word.size < line->size;) {
        struct span rest = trim((struct span){word.at + word.size, line->size - word.size});
        bool equals = rest.at[0] == '=';
        if (is_blank(word.at[word.size]) && !joined && !equals) {
            break;
        }
        joined = equals;
        word.size = (size_t) (rest.at - word.at) + 1;
    }
    line->at += word.size;
    line->size -= word.size;
    return word;
}

bool span_split(struct span word, struct span *name, struct span *value)
{
    const char *equals = memchr(word.at, '=', word.size);
    if (!equals) {
        return false;
    }
    size_t size = (size_t) (equals - word.at);
    *name = trim((struct span){word.at, size});
    *value = trim((struct span){equals + 1, word.size - size - 1});
    return true;
}

bool span_is_named(struct span word, const char *name, struct span *value)
{
    struct span found;
    return span_split(word, &found, value) && found.size == strlen(name) &&
           memcmp(found.at, name, found.size) == 0;
}
