/* All parameters: the library's, and those that only keelrun has. */
#ifndef TOOLS_INFO_PARAMS_H
#define TOOLS_INFO_PARAMS_H

#include <keel/info.h>
#include <tools/info/options.h>

struct params {
    struct keel_param *list; /* owned, with the texts */
    size_t count;
    bool failed; /* out of memory */
};

/* False: some are missing, and stderr says why. params_free, always. */
bool params_collect(struct params *params);
/* Was this one asked for? */
bool params_match(const struct options *options, const struct keel_param *param);
void params_free(struct params *params);

#endif
