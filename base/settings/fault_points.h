/* The catalogue of fault points: every point of every room, those of modules that are loaded later
 * and of parts that this build lacks included, so that a process that reads the parameter "fault"
 * can tell at once what names no point. tests/lint/check-docs.sh holds it to the sources. */
#ifndef BASE_FAULT_POINTS_H
#define BASE_FAULT_POINTS_H

#include <base/settings/fault.h>

struct fault_point {
    const char *name;
    unsigned actions; /* bits 1 << FAULT_*; every point knows delay and kill besides */
    const char
        *lacks; /* what the build was made without, so that the point is not in it; or NULL */
};

/* NULL: there is none. */
const struct fault_point *fault_point_find(const char *name);
bool fault_point_knows(const struct fault_point *point, enum fault_action action);
/* "there are ...": the points that begin like the name, up to a dot; where none does, how points
 * begin. */
void fault_points_near(const char *name, char *text, size_t size);

#endif
