#include <config.h>

#include <launcher/node/explain/stacks.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of a text, and the text behind it. */
struct line {
    const char *at;
    size_t size;
};

static bool next_line(const char **text, const char *end, struct line *line)
{
    if (*text == end) {
        return false;
    }
    const char *newline = memchr(*text, '\n', (size_t) (end - *text));
    const char *stop = newline ? newline : end;
    *line = (struct line){*text, (size_t) (stop - *text)};
    *text = newline ? newline + 1 : end;
    return true;
}

static bool begins(const struct line *line, const char *with)
{
    size_t size = strlen(with);
    return line->size >= size && memcmp(line->at, with, size) == 0;
}

static void skip(struct line *line, size_t size)
{
    line->at += size;
    line->size -= size;
}

static size_t span(const struct line *line, const char *characters)
{
    size_t size = 0;
    while (size < line->size && line->at[size] && strchr(characters, line->at[size])) {
        size++;
    }
    return size;
}

/* Where the last one of these words begins; the line's size where there is none. */
static size_t find_last(const struct line *line, const char *word)
{
    size_t size = strlen(word);
    for (size_t at = line->size; at >= size; at--) {
        if (memcmp(line->at + at - size, word, size) == 0) {
            return at - size;
        }
    }
    return line->size;
}

/* "#N  0xADDRESS in FUNCTION (...) at FILE:LINE": FUNCTION, and the place behind the arguments. */
static void split_frame(struct line frame, struct line *function, struct line *place)
{
    skip(&frame, 1);
    skip(&frame, span(&frame, "0123456789"));
    skip(&frame, span(&frame, " "));
    if (begins(&frame, "0x")) {
        struct line rest = frame;
        skip(&rest, 2);
        skip(&rest, span(&rest, "0123456789abcdef"));
        if (begins(&rest, " in ")) {
            skip(&rest, 4);
            frame = rest;
        }
    }
    size_t at = find_last(&frame, ") at "), from = find_last(&frame, ") from ");
    size_t end = at < from ? at : from;
    *place = frame;
    skip(place, end < frame.size ? end + 1 : end);
    *function = (struct line){frame.at, end < frame.size ? end + 1 : end};
    size_t arguments = find_last(function, " (");
    function->size = arguments < function->size ? arguments : function->size;
}

static void put_frame(char *frames, struct line line)
{
    struct line function, place;
    char text[STACK_FRAME_BYTES];
    split_frame(line, &function, &place);
    int size = snprintf(text, sizeof(text) - 1, "%.*s%.*s", (int) function.size, function.at,
                        (int) place.size, place.at);
    for (char *at = text; *at; at++) {
        *at = (unsigned char) *at < ' ' || *at == 0x7f ? '?' : *at;
    }
    if (size > 0) {
        strcat(frames, text);
        strcat(frames, "\n");
    }
}

static struct stack *add_stack(struct stacks *stacks, const struct line *head)
{
    struct stack *stack = &stacks->list[stacks->count];
    char *frames = stacks->count < STACKS_MAX ? calloc(1, STACK_BYTES_MAX + 1) : NULL;
    if (!frames) {
        return NULL;
    }
    *stack = (struct stack){begins(head, "Thread 1 "), frames};
    stacks->count++;
    return stack;
}

static void drop_empty(struct stacks *stacks)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < stacks->count; i++) {
        struct stack stack = stacks->list[i];
        if (stack.frames[0]) {
            stacks->list[kept++] = stack;
        } else {
            free(stack.frames);
        }
    }
    stacks->count = kept;
}

int stacks_parse(struct stacks *stacks, const char *text, size_t size)
{
    const char *end = text + size;
    struct stack *stack = NULL;
    struct line line;
    unsigned frames = 0;
    *stacks = (struct stacks){0};
    while (next_line(&text, end, &line)) {
        if (begins(&line, "Thread ")) {
            stack = add_stack(stacks, &line);
            frames = 0;
        } else if (begins(&line, "#") && stack && frames++ < STACK_FRAMES_MAX) {
            put_frame(stack->frames, line);
        }
    }
    drop_empty(stacks);
    return stacks->count > 0 ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND;
}

void stacks_fini(struct stacks *stacks)
{
    for (uint32_t i = 0; i < stacks->count; i++) {
        free(stacks->list[i].frames);
    }
    stacks->count = 0;
}

void stacks_why(char *why, size_t why_size, const char *text, size_t size)
{
    const char *end = text + size;
    struct line line, told = {text, 0};
    bool ptrace = false;
    while (next_line(&text, end, &line) && !ptrace) {
        ptrace = begins(&line, "ptrace: ");
        told = line.size > 0 ? line : told;
    }
    snprintf(why, why_size, "%.*s", (int) told.size, told.at);
    for (char *at = why; *at; at++) {
        *at = (unsigned char) *at < ' ' || *at == 0x7f ? '?' : *at;
    }
}
