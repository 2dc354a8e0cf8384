#include <config.h>

#include <btl/sm/pace.h>

/* Of the other way's cost: above it a trial has not shown enough. */
#define FASTER 0.9375f
/* A run in which a process lost its processor counts as no more than so many times the cost. */
#define WORST 2.0f

static unsigned class_of(size_t size)
{
    unsigned bits = 63u - (unsigned) __builtin_clzll(size | SM_PACE_MIN);
    unsigned class = bits - SM_PACE_BITS_MIN;
    return class < SM_PACE_CLASSES ? class : SM_PACE_CLASSES - 1;
}

enum sm_way sm_pace_way(const struct sm_pace *pace, bool put, size_t size)
{
    return (enum sm_way) pace->courses[put][class_of(size)].way;
}

/* A smoothed one, but for the good news of a trial: what was known is old. */
static void update_cost(struct sm_course *course)
{
    float *cost = &course->cost[course->way];
    float found = course->ns / course->kib;
    if (*cost <= 0 || (course->tries && found < *cost)) {
        *cost = found;
        return;
    }
    found = found < WORST * *cost ? found : WORST * *cost;
    *cost += (found - *cost) / 4;
}

static void end_trial(struct sm_course *course)
{
    uint8_t other = !course->way;
    course->tries = false;
    course->share = course->share == 0              ? SM_PACE_SHARE_FIRST
                    : course->share < SM_PACE_SHARE ? course->share * 2
                                                    : SM_PACE_SHARE;
    course->wait_ns = course->share * course->ns;
    course->lost = course->cost[course->way] > FASTER * course->cost[other];
    course->way = course->lost ? other : course->way;
}

static void end_run(struct sm_course *course)
{
    if (course->warm) {
        update_cost(course);
    }
    if (course->tries) {
        end_trial(course);
    } else if (course->wait_ns > course->ns) {
        course->wait_ns -= course->ns;
    } else if (course->warm) {
        course->wait_ns = 0;
        course->tries = true;
        course->way = !course->way;
    }
    course->warm = true;
    course->ended = 0;
    course->ns = course->kib = 0;
}

/* The time that the caller waited for the operation, and what it did before. */
static float time_of(const struct sm_pace *pace, const struct sm_timed *timed)
{
    uint64_t began = timed->began_ns, last = pace->ended_ns;
    uint64_t gap = began > last ? began - last : 0;
    uint64_t ns = timed->ended_ns - (began > last ? began : last);
    return (float) (gap <= SM_PACE_GAP * ns ? ns + gap : ns);
}

void sm_pace_count(struct sm_pace *pace, enum sm_way way, const struct sm_timed *timed)
{
    struct sm_course *course = &pace->courses[timed->put][class_of(timed->size)];
    float ns = time_of(pace, timed);

    pace->ended_ns = timed->ended_ns;
    if (way != (enum sm_way) course->way) { /* it began before the way changed */
        course->wait_ns += course->lost && !course->tries ? course->share * ns : 0;
        return;
    }
    course->ns += ns;
    course->kib += (float) timed->size / 1024;
    course->ended++;
    if (course->ended >= SM_PACE_RUN_MIN && course->ns >= SM_PACE_RUN_NS) {
        end_run(course);
    }
}
