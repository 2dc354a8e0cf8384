/* What keel-info prints. */
#ifndef TOOLS_INFO_SHOW_H
#define TOOLS_INFO_SHOW_H

#include <tools/info/options.h>
#include <tools/info/params.h>

/* What the options ask for; params NULL: no parameters. */
void show_text(const struct options *options, const struct params *params);
void show_json(const struct options *options, const struct params *params);
/* docs/parameters.md. */
void show_md(const struct params *params);

#endif
