/* Where Keel's own files are: found relative to the running program (keelrun, keeld, a test) or to
 * libkeel.so, never to a build-time prefix, so that a moved tree works. */
#ifndef BASE_PATHS_H
#define BASE_PATHS_H

#include <keel/types.h>

/* A program of ours beside this one ("keeld"): malloc'd, NULL: not found. */
char *paths_program(const char *name);
/* A loadable module ("keel-hwloc.so"): malloc'd, NULL: not found. */
char *paths_module(const char *name);

#endif
