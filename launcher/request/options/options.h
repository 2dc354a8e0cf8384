/* keelrun's options: one table, which the command line, --help, bash's completion and the lints
 * read. */
#ifndef LAUNCHER_REQUEST_OPTIONS_OPTIONS_H
#define LAUNCHER_REQUEST_OPTIONS_OPTIONS_H

#include <keel/types.h>

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

/* Written with one or two dashes; those of one letter with one. */
struct option {
    const char *name;
    const char *value; /* as --help shows it, a word for each; NULL: it takes none */
    /* option: as it was written. False: the parser has the reason. NULL: sets the flag. */
    bool (*apply)(struct parser *parser, const char *option, char **values);
    const char *preset; /* the value that apply gets of an option without */
    size_t flag;        /* with no apply: which bool of the request it sets */
    enum option_group group;
    const char *help;  /* NULL: another name for the row before */
    const char *words; /* what its value can be, with blanks between; "FILE", "DIR": such a name */
};

extern const struct option options[];
extern const size_t option_count;
/* What --help writes above a group. */
extern const char *const option_groups[GROUPS];

#endif
