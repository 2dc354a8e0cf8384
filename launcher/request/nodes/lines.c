#include <config.h>

#include <launcher/request/nodes/lines.h>

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

struct span span_word(struct span *line)
{
    while (line->size > 0 && is_blank(*line->at)) {
        line->at++;
        line->size--;
    }
    struct span word = {line->at, 0};
    while (word.size < line->size && !is_blank(word.at[word.size])) {
        word.size++;
    }
    line->at += word.size;
    line->size -= word.size;
    return word;
}

bool span_is_named(struct span word, const char *name, struct span *value)
{
    size_t size = strlen(name);
    if (word.size <= size || strncmp(word.at, name, size) != 0 || word.at[size] != '=') {
        return false;
    }
    *value = (struct span){word.at + size + 1, word.size - size - 1};
    return true;
}
