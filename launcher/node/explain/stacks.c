#include <config.h>

#include <launcher/node/explain/stacks.h>

#include <base/text/reason.h>
#include <launcher/shepherd/crash.h>
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

struct frame {
    struct line function;
    const char *joint;
    struct line place;
};

/* FUNCTION (...) at FILE:LINE, or from LIBRARY. */
static struct frame split_gdb(struct line line)
{
    size_t at = find_last(&line, ") at "), from = find_last(&line, ") from ");
    size_t end = at < from ? at : from;
    struct frame frame = {.joint = "", .place = line};
    skip(&frame.place, end < line.size ? end + 1 : end);
    frame.function = (struct line){line.at, end < line.size ? end + 1 : end};
    size_t arguments = find_last(&frame.function, " (");
    frame.function.size = arguments < frame.function.size ? arguments : frame.function.size;
    return frame;
}

/* FUNCTION - LIBRARY */
static struct frame split_eu_stack(struct line line)
{
    size_t end = find_last(&line, " - /");
    bool placed = end < line.size;
    struct frame frame = {{line.at, end}, placed ? " from " : "", line};
    skip(&frame.place, placed ? end + 3 : end);
    return frame;
}

/* "#N  0xADDRESS in ..." of gdb, which may leave out the address; "#N  0xADDRESS ..." of eu-stack.
 */
static struct frame split_frame(struct line line)
{
    skip(&line, 1);
    skip(&line, span(&line, "0123456789"));
    skip(&line, span(&line, " "));
    struct line rest = line;
    if (begins(&rest, "0x")) {
        skip(&rest, 2);
        skip(&rest, span(&rest, "0123456789abcdef"));
    }
    if (begins(&rest, " in ")) {
        skip(&rest, 4);
        return split_gdb(rest);
    }
    if (rest.at > line.at && begins(&rest, " ")) {
        skip(&rest, 1);
        return split_eu_stack(rest);
    }
    return split_gdb(line);
}

static bool is(const struct line *line, const char *text)
{
    return begins(line, text) && line->size == strlen(text);
}

/* With its newline, printable, where the frames end; there is room. */
static void put_text(char *end, struct line function, const char *joint, struct line place)
{
    snprintf(end, STACK_FRAME_BYTES - 1, "%.*s%s%.*s", (int) function.size, function.at, joint,
             (int) place.size, place.at);
    reason_printable(end);
    if (*end) {
        strcat(end, "\n");
    }
}

/* What handles a crash is not part of it. */
static void put_frame(struct stack *stack, struct line line)
{
    struct frame frame = split_frame(line);
    bool handler =
        is(&frame.function, "<signal handler called>") || is(&frame.function, "__restore_rt");
    if (is(&frame.function, CRASH_FUNCTION)) {
        stack->crashed = true;
        stack->frames[0] = '\0';
    } else if (!stack->crashed || stack->frames[0] || !handler) {
        put_text(strchr(stack->frames, '\0'), frame.function, frame.joint, frame.place);
    }
}

/* "    FILE:LINE:COLUMN", perhaps without the column, of eu-stack: of the last frame, in place of
 * its library. */
static void put_source(struct stack *stack, struct line line)
{
    char *end = strrchr(stack->frames, '\n'), *start = stack->frames;
    if (!end) {
        return;
    }
    for (char *newline; (newline = strchr(start, '\n')) < end;) {
        start = newline + 1;
    }
    char last[STACK_FRAME_BYTES];
    snprintf(last, sizeof(last), "%.*s", (int) (end - start), start);
    struct line function = {last, strlen(last)};
    function.size = find_last(&function, " from ");
    skip(&line, span(&line, " "));
    struct line row = {line.at, find_last(&line, ":")};
    line.size = find_last(&row, ":") < row.size ? row.size : line.size;
    put_text(start, function, " at ", line);
}

static struct stack *add_stack(struct stacks *stacks, bool first)
{
    struct stack *stack = &stacks->list[stacks->count];
    char *frames = stacks->count < STACKS_MAX ? calloc(1, STACK_BYTES_MAX + 1) : NULL;
    if (!frames) {
        return NULL;
    }
    *stack = (struct stack){.main = first, .frames = frames};
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
        if (begins(&line, "Thread ") || begins(&line, "TID ")) {
            stack = add_stack(stacks, begins(&line, "Thread 1 ") ||
                                          (begins(&line, "TID ") && stacks->count == 0));
            frames = 0;
        } else if (begins(&line, "#") && stack && frames++ < STACK_FRAMES_MAX) {
            put_frame(stack, line);
        } else if (begins(&line, "    ") && stack && frames <= STACK_FRAMES_MAX) {
            put_source(stack, line);
        }
    }
    drop_empty(stacks);
    return stacks->count > 0 ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND;
}

void stacks_keep_crashed(struct stacks *stacks)
{
    for (uint32_t i = 0; i < stacks->count; i++) {
        if (stacks->list[i].crashed) {
            struct stack kept = stacks->list[i];
            stacks->list[i] = stacks->list[0];
            stacks->list[0] = kept;
            for (; stacks->count > 1; stacks->count--) {
                free(stacks->list[stacks->count - 1].frames);
            }
            kept.main = true;
            stacks->list[0] = kept;
        }
    }
}

void stacks_fini(struct stacks *stacks)
{
    for (uint32_t i = 0; i < stacks->count; i++) {
        free(stacks->list[i].frames);
    }
    stacks->count = 0;
}

/* Of gdb and eu-stack. */
#define REFUSAL "Operation not permitted"

void stacks_why(char *why, size_t why_size, const char *text, size_t size)
{
    const char *end = text + size;
    struct line line, told = {text, 0};
    bool refused = false;
    while (next_line(&text, end, &line) && !refused) {
        refused = begins(&line, "ptrace: ") || find_last(&line, REFUSAL) < line.size;
        told = line.size > 0 ? line : told;
    }
    snprintf(why, why_size, "%.*s", (int) told.size, told.at);
    reason_printable(why);
}

void stacks_forbidden(char *why, size_t size, int tracer, const char *scope)
{
    static const char *const reasons[] = {
        "it does not let its parent trace it (PR_SET_PTRACER)",
        "only those with CAP_SYS_PTRACE may trace",
        "nobody may trace until the node is started anew",
    };
    if (!strstr(why, REFUSAL)) {
        return;
    }
    if (tracer > 0) {
        snprintf(why, size, "ptrace is forbidden: process %d traces it already", tracer);
    } else if (scope[0] >= '1' && scope[0] <= '3' && strspn(scope, "123") == 1) {
        snprintf(why, size, "ptrace is forbidden: kernel.yama.ptrace_scope is %c: %s", scope[0],
                 reasons[scope[0] - '1']);
    }
}
