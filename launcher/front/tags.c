#include <config.h>

#include <launcher/front/tags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME_MAX = 64, PREFIX_MAX = TIME_MAX + TAGS_TAG_MAX };

struct tagger {
    bool timestamped;
    bool begun;               /* a line is held back */
    char tag[TAGS_TAG_MAX];   /* "" when not tagged */
    size_t prefix_size, size; /* of what is in line; size includes the prefix */
    char line[PREFIX_MAX + TAGS_LINE_MAX + 1];
};

int tagger_create(struct tagger **out, const char *tag, bool timestamped)
{
    struct tagger *tagger = malloc(sizeof(*tagger)); /* pages of long lines only when used */
    if (!tagger) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    tagger->timestamped = timestamped;
    tagger->begun = false;
    snprintf(tagger->tag, sizeof(tagger->tag), "%s", tag);
    *out = tagger;
    return ORTE_SUCCESS;
}

void tagger_destroy(struct tagger *tagger)
{
    free(tagger);
}

static size_t put_time(char *text, size_t size, const struct timespec *now)
{
    struct tm when;
    char date[32], year[8];
    localtime_r(&now->tv_sec, &when);
    strftime(date, sizeof(date), "%a %b %e %H:%M:%S", &when);
    strftime(year, sizeof(year), "%Y", &when);
    return (size_t) snprintf(text, size, "%s.%06ld %s ", date, now->tv_nsec / 1000, year);
}

static void begin_line(struct tagger *tagger, const struct timespec *now)
{
    size_t size = tagger->timestamped ? put_time(tagger->line, TIME_MAX, now) : 0;
    size_t tag_size = strlen(tagger->tag);
    memcpy(tagger->line + size, tagger->tag, tag_size);
    tagger->prefix_size = tagger->size = size + tag_size;
    tagger->begun = true;
}

static void give_on(struct tagger *tagger, tags_emit_fn emit, void *arg)
{
    tagger->line[tagger->size] = '\n';
    emit(arg, tagger->line, tagger->size + 1);
    tagger->begun = false;
}

void tagger_feed(struct tagger *tagger, const char *data, size_t size, const struct timespec *now,
                 tags_emit_fn emit, void *arg)
{
    while (size > 0) {
        if (!tagger->begun) {
            begin_line(tagger, now);
        }
        const char *newline = memchr(data, '\n', size);
        size_t rest = newline ? (size_t) (newline - data) : size;
        size_t room = TAGS_LINE_MAX - (tagger->size - tagger->prefix_size);
        size_t part = rest < room ? rest : room;
        memcpy(tagger->line + tagger->size, data, part);
        tagger->size += part;
        data += part;
        size -= part;
        if (size > 0) { /* a newline, or more than a line may have */
            size_t skip = *data == '\n';
            data += skip;
            size -= skip;
            give_on(tagger, emit, arg);
        }
    }
}

void tagger_end(struct tagger *tagger, tags_emit_fn emit, void *arg)
{
    if (tagger->begun) {
        give_on(tagger, emit, arg);
    }
}
