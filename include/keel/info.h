/* What this installation of Keel is and has, and what it finds on this machine: keel-info(1) prints
 * it. The calls need no keel_init, open nothing that they leave open, and may be made by any
 * thread, but keel_devices_each by one at a time. What visit is given ends with its call. */
#ifndef KEEL_INFO_H
#define KEEL_INFO_H

#include <keel/types.h>

BEGIN_C_DECLS

/* A parameter of this library, as it is now, or will be when it is first read. */
struct keel_param {
    const char *name;
    const char *layer;        /* "base", "oob", "rml", "btl", "ptl", "pml", "bootstrap" */
    const char *type;         /* "int", "size", "bool", "string" or "enum" */
    const char *default_text; /* as the source has it */
    const char *value;        /* the default, or what was given, as it was written */
    const char *source;       /* "default", "command line", "environment", or "FILE:LINE" */
    const char *complaint;    /* NULL; or why a value that was given does not fit */
    const char *range;        /* "0 to 64k"; of an enum its words, "auto, memfd"; "": any */
    const char *unit;         /* "ms", "bytes", ...; or "" */
    const char *help;         /* one sentence */
};
typedef void (*keel_param_fn)(void *arg, const struct keel_param *param);
/* Visits every parameter of the library, those of components that are not open among them: layer by
 * layer, by name. The launcher has more: keelrun --parameters prints them. Reads none, so that
 * each may still be set. */
void keel_params_each(keel_param_fn visit, void *arg) KEEL_EXPORT;

END_C_DECLS
#endif
