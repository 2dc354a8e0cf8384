/* The results as a picture. */
#ifndef TOOLS_PERF_PLOT_H
#define TOOLS_PERF_PLOT_H

#include <tools/perf/measure.h>

/* Writes an SVG file: a panel each for latency, bandwidth and rate, as far as there are results;
 * both axes are logarithmic. False: the file cannot be written, errno says why. */
bool plot_write(const char *path, const char *title, const struct result *results, size_t count);

#endif
