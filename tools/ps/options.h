/* keel-ps's command line. */
#ifndef TOOLS_PS_OPTIONS_H
#define TOOLS_PS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct options {
    bool json, stacks, counters, watch;
    double watch_s;    /* between two looks */
    double timeout_s;  /* for a keelrun to answer */
    const char **jobs; /* owned: what their ids begin with; none: all */
    size_t job_count;
};

/* Returns 0; 1 when --help, --version or --completion was asked for and printed; -1 after a
 * complaint on stderr. options_free, always. */
int options_read(struct options *options, int argc, char **argv);
void options_free(struct options *options);
/* Is this job asked for? */
bool options_want(const struct options *options, const char *job);

#endif
