/* keel-info's command line. */
#ifndef TOOLS_INFO_OPTIONS_H
#define TOOLS_INFO_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_MD };

/* Which parameters: all of a layer, or those whose names begin so. */
struct pattern {
    const char *word;   /* borrowed */
    const char *second; /* ompi_info's component; NULL: none */
};

struct options {
    bool build, components, devices, topology, params;
    enum format format;
    struct pattern *patterns; /* owned; none: all */
    size_t pattern_count;
};

/* Returns 0; 1 when --help, --version or --completion was asked for and printed; -1 after a
 * complaint on stderr. options_free, always. */
int options_read(struct options *options, int argc, char **argv);
void options_free(struct options *options);

#endif
