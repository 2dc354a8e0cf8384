/* What the smaller examples use: whatever fails ends the job with a word. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <keel/keel.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(int status, const char *what)
{
    if (status < 0) {
        keel_abort(1, "%s: %s", what, opal_strerror(status));
    }
}

/* The best rail to a rank of this job, which must have this: MCA_BTL_FLAGS_PUT, say. */
static inline const struct keel_rail *rail_to(uint32_t rank, uint32_t flags)
{
    orte_process_name_t peer = {keel_my_name()->jobid, rank};
    size_t count;
    const struct keel_rail *rails = keel_rails(&peer, &count);
    if (count == 0 || (rails->btl->btl_flags & flags) != flags) {
        keel_abort(1, "the rail to rank %u has not what this needs", rank);
    }
    return rails;
}

/* What a word of the command line says, or the other where there is none. */
static inline long parse_number(const char *word, const char *name, long least, long otherwise)
{
    char *end;
    errno = 0;
    long value = word ? strtol(word, &end, 10) : otherwise;
    if (word && (end == word || *end != '\0' || errno != 0 || value < least)) {
        fprintf(stderr, "%s is a number from %ld on, not \"%s\"\n", name, least, word);
        exit(2);
    }
    return value;
}

#endif
