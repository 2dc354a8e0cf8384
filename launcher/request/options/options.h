/* keelrun's options: one table, which the command line, --help, bash's completion and the lints
 * read. */
#ifndef LAUNCHER_REQUEST_OPTIONS_OPTIONS_H
#define LAUNCHER_REQUEST_OPTIONS_OPTIONS_H

#include <launcher/request/placement.h>

struct parser;

enum option_group {
    GROUP_WHAT,
    GROUP_WHERE,
    GROUP_PLACE,
    GROUP_SHOW,
    GROUP_OLD,
    GROUP_OUTPUT,
    GROUP_CONTROL,
    GROUPS
};

enum { OPTION_NAMES = 6 };

/* Which struct an option sets a member of. */
enum option_base { BASE_REQUEST, BASE_APP, BASE_PARSER };

/* Written with one or two dashes; names of one letter with one. */
struct option {
    const char *names[OPTION_NAMES]; /* NULL-ended */
    enum option_group group;
    const char *help;
    const char *value; /* as --help shows it, a word for each; NULL: it takes none */
    /* False: the parser has the reason. NULL: the option asks for what keelrun does by itself. */
    bool (*apply)(struct parser *parser, const char *value);
    const char *text;  /* the value of an option without; of one that sets a text, what is needed */
    const char *words; /* what its value can be, with blanks between; "FILE", "DIR", "HOST": such a
                        * name. NULL: as in value, or ... */
    void (*offer)(placement_offer_fn *fn, void *arg); /* ... these words with colons between them */
    /* what apply works with */
    enum option_base base;
    size_t offset;     /* of the member */
    uint32_t number;   /* the most that is possible, or the choice */
    const char *param; /* the parameter that is set */
    int (*place)(struct placement *placement, const char *value, char *reason, size_t reason_size);
    void (*print)(void); /* then nothing is run */
};

extern const struct option options[];
extern const size_t option_count;
/* What --help writes above a group. */
extern const char *const option_groups[GROUPS];

/* NULL: no option has this name. */
const struct option *option_find(const char *name, size_t size);

#endif
