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

/* What moves bytes or messages. */
struct keel_component {
    const char *framework; /* "btl" or "ptl" */
    const char *name;      /* "tcp" */
    const char *interface; /* the version of the framework's interface: "3.0.0" */
    const char *lacks;     /* NULL; or the library that this build lacks for it */
    const char *loads;     /* NULL; or the file that is loaded when it is opened */
    bool found;            /* that file is there, or there is none */
    bool named_only;       /* opened only where the parameter btl names it */
};
typedef void (*keel_component_fn)(void *arg, const struct keel_component *component);
/* Visits every component of the library, best first, those that it was built without as well. */
void keel_components_each(keel_component_fn visit, void *arg) KEEL_EXPORT;

/* Something that a component of the data plane finds on this machine. */
struct keel_device {
    const char *component; /* "tcp" */
    const char *name;      /* an interface, or a provider of libfabric and its domain */
    const char *address;   /* or "" */
    const char *about;     /* more in words, or "" */
    uint32_t mtu_bytes;    /* 0: unknown, or without a meaning */
    uint32_t speed_mbps;   /* megabits a second; 0: unknown */
    int numa_node;         /* that it is attached to; -1: unknown */
    const char *unused;    /* NULL: a job would use it; or why it would not */
};
typedef void (*keel_device_fn)(void *arg, const struct keel_device *device);
/* Visits them, component by component. Reads the parameters that choose among them, and loads
 * libfabric, whose providers may take some 100 ms, if it is there. No other thread may change the
 * environment meanwhile. */
void keel_devices_each(keel_device_fn visit, void *arg) KEEL_EXPORT;

/* A fact in words: of the groups "build" (version, compiler, options), "libraries" and "topology"
 * (what this machine's processors are, and how many of them this process may use). */
typedef void (*keel_fact_fn)(void *arg, const char *group, const char *name, const char *text);
/* Visits all facts, group by group. */
void keel_facts_each(keel_fact_fn visit, void *arg) KEEL_EXPORT;

END_C_DECLS
#endif
