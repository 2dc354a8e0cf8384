#include <config.h>

#include <base/loop/backoff.h>

/* splitmix64 */
static uint64_t draw(struct backoff_chance *chance)
{
    uint64_t z = chance->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t backoff_next(struct backoff *backoff, struct backoff_chance *chance)
{
    uint64_t bound = backoff->next_us ? backoff->next_us : backoff->base_us;
    backoff->next_us = bound <= backoff->cap_us / 2 ? bound * 2 : backoff->cap_us;
    uint64_t sure = bound / 2;
    return sure + draw(chance) % (bound - sure + 1);
}
