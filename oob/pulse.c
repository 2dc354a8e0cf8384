#include <config.h>

#include <oob/pulse.h>

uint64_t pulse_stall(uint64_t last_us, uint64_t turn_us, uint64_t now_us)
{
    uint64_t gap = now_us > last_us ? now_us - last_us : 0;
    return gap / 2 >= turn_us ? gap - turn_us : 0;
}

void pulse_begin(struct pulse *pulse, uint64_t now_us)
{
    *pulse = (struct pulse){.heard_us = now_us};
}

void pulse_hear(struct pulse *pulse, uint64_t now_us)
{
    pulse->heard_us = now_us;
    pulse->heard = true;
}

void pulse_credit(struct pulse *pulse, uint64_t stall_us, uint64_t now_us)
{
    uint64_t room = now_us > pulse->heard_us ? now_us - pulse->heard_us : 0;
    pulse->heard_us += stall_us < room ? stall_us : room;
}

static bool is_over(uint64_t limit_us, uint64_t silent_us)
{
    return limit_us > 0 && silent_us >= limit_us;
}

enum pulse_verdict pulse_look(struct pulse *pulse, const struct pulse_limits *limits,
                              uint64_t turn_us, uint64_t now_us)
{
    uint64_t silent = now_us > pulse->heard_us ? now_us - pulse->heard_us : 0;
    if (is_over(limits->fail_us, silent)) {
        return PULSE_FAILED;
    }
    bool heard = pulse->heard;
    pulse->heard = false;
    if (pulse->suspected && heard) {
        pulse->suspected = false;
        return PULSE_AGAIN;
    }
    if (!pulse->suspected && is_over(limits->suspect_us, silent)) {
        pulse->suspected = true;
        return PULSE_SUSPECT;
    }
    return silent >= turn_us / 2 ? PULSE_ASK : PULSE_WELL;
}
