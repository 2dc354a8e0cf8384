/* Lines for people. Any thread; each call is one write. */
#ifndef KEEL_COMPAT_OPAL_OUTPUT_H
#define KEEL_COMPAT_OPAL_OUTPUT_H

#include <opal/class/opal_object.h>
#include <stdarg.h>

BEGIN_C_DECLS

/* What a stream is to be; the strings are copied by opal_output_open. */
struct opal_output_stream_t {
    opal_object_t super;
    int lds_verbose_level;
    int lds_syslog_priority;
    char *lds_syslog_ident;
    char *lds_prefix;      /* NULL: none; else stands before each text */
    char *lds_suffix;      /* stands behind it */
    bool lds_is_debugging; /* silent, unless OPAL_ENABLE_DEBUG */
    bool lds_want_syslog;  /* not supported, nor are files */
    bool lds_want_stdout;
    bool lds_want_stderr;
    bool lds_want_file;
    bool lds_want_file_append;
    char *lds_file_suffix;
};
typedef struct opal_output_stream_t opal_output_stream_t;
extern const opal_class_t opal_output_stream_t_class KEEL_PUBLIC(opal_output_stream_t_class);

/* The stream's number, or OPAL_ERR_OUT_OF_RESOURCE above 64, OPAL_ERR_NOT_SUPPORTED. NULL: standard
 * error, with host and pid before each text. */
int opal_output_open(opal_output_stream_t *stream) KEEL_PUBLIC(opal_output_open);
void opal_output_close(int id) KEEL_PUBLIC(opal_output_close);
/* Lets a stream write or be silent; returns what it was. */
bool opal_output_switch(int id, bool enable) KEEL_PUBLIC(opal_output_switch);
void opal_output_set_verbosity(int id, int level) KEEL_PUBLIC(opal_output_set_verbosity);
int opal_output_get_verbosity(int id) KEEL_PUBLIC(opal_output_get_verbosity);

/* Writes the text, and a newline where it has none at its end. Stream 0 is always there: standard
 * error, with host and pid before each text. A number that is no stream's: nothing. */
void opal_output(int id, const char *format, ...) KEEL_PUBLIC(opal_output) KEEL_PRINTF(2, 3);
/* The same when the stream's verbosity is at least level. */
void opal_output_verbose(int level, int id, const char *format, ...)
    KEEL_PUBLIC(opal_output_verbose) KEEL_PRINTF(3, 4);
void opal_output_vverbose(int level, int id, const char *format, va_list arguments)
    KEEL_PUBLIC(opal_output_vverbose) KEEL_PRINTF(3, 0);
/* The text that opal_output_verbose would write, from malloc; NULL where it would write nothing. */
char *opal_output_string(int level, int id, const char *format, ...) KEEL_PUBLIC(opal_output_string)
    KEEL_PRINTF(3, 4);

/* The argument is the arguments of opal_output or opal_output_verbose, with their parentheses. */
#if OPAL_ENABLE_DEBUG
#define OPAL_OUTPUT(arguments) opal_output arguments
#define OPAL_OUTPUT_VERBOSE(arguments) opal_output_verbose arguments
#else
#define OPAL_OUTPUT(arguments)
#define OPAL_OUTPUT_VERBOSE(arguments)
#endif

END_C_DECLS
#endif
