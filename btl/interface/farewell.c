#include <config.h>

#include <base/data/clock.h>
#include <base/data/list.h>
#include <base/settings/log.h>
#include <btl/interface/farewell.h>
#include <stdlib.h>
#include <string.h>

enum { HELD_MOST = 64, JUST_NOW_US = 1000000 };

struct held {
    struct list link;
    uint64_t at_us;
    char text[];
};

static struct {
    enum { APART, WAITING, MET } stage;
    struct list held;
    size_t count;
} farewell = {.held = LIST_INIT(farewell.held)};

static struct held *hold(const char *text)
{
    const size_t size = strlen(text) + 1;
    struct held *held = farewell.count < HELD_MOST ? malloc(sizeof(*held) + size) : NULL;
    if (held) {
        held->at_us = clock_us();
        memcpy(held->text, text, size);
        list_init(&held->link);
        list_append(&farewell.held, &held->link);
        farewell.count++;
    }
    return held;
}

void farewell_log(const char *text)
{
    if (farewell.stage != WAITING || !hold(text)) {
        log_at(LOG_BTL, farewell.stage == MET ? LOG_INFO : LOG_WARN, "%s", text);
    }
}

void farewell_begin(void)
{
    farewell.stage = WAITING;
}

void farewell_met(bool together)
{
    const uint64_t now_us = clock_us();
    farewell.stage = together ? MET : APART;
    farewell.count = 0;
    for (struct list *link; (link = list_pop(&farewell.held));) {
        struct held *held = container_of(link, struct held, link);
        const bool of_the_end = together && now_us - held->at_us < JUST_NOW_US;
        log_at(LOG_BTL, of_the_end ? LOG_INFO : LOG_WARN, "%s", held->text);
        free(held);
    }
}

void farewell_over(void)
{
    for (struct list *link; (link = list_pop(&farewell.held));) {
        free(container_of(link, struct held, link));
    }
    farewell.count = 0;
    farewell.stage = APART;
}
