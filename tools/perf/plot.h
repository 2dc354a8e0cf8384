/* The results as a picture. */
#ifndef TOOLS_PERF_PLOT_H
#define TOOLS_PERF_PLOT_H

#include <stdio.h>
#include <tools/perf/measure.h>

/* Writes an SVG file and closes it: a panel each for latency, bandwidth and rate, as far as there
 * are results; both axes are logarithmic. False: it cannot be written, errno says why. */
bool plot_write(FILE *out, const char *title, const struct result *results, size_t count);

#endif
