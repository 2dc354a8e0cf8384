/* Where Keel's own files are: found relative to the object that holds this code (the running
 * program when it is linked in, as in keelrun, keeld and tests; else libkeel.so), never to a
 * build-time prefix, so that a moved tree works. DIR is that object's folder, links resolved:
 *
 *   programs  DIR, DIR/../bin, DIR/../../bin, DIR/../../../bin
 *   libkeel   DIR, and from DIR/..: the folder that configure was told, lib, lib64
 *   modules   DIR, DIR/keel, keel/ in the folder that configure was told, and from each of DIR/..,
 *             DIR/../.., DIR/../../..: lib/keel, lib64/keel
 *
 * and, however deep DIR lies in a build tree, bin and lib/.libs (libtool's folder) of it. A build
 * tree is known by the libkeel there, which has to be of DIR's owner.
 *
 * The first regular file wins. */
#ifndef BASE_PATHS_H
#define BASE_PATHS_H

#include <keel/types.h>

/* A program of ours beside this one ("keeld"): malloc'd, NULL: not found. */
char *paths_program(const char *name);
/* The folder with the libkeel of this installation or build: malloc'd, NULL: not found. */
char *paths_library(void);
/* A loadable module ("keel-hwloc.so"): malloc'd, NULL: not found. */
char *paths_module(const char *name);
/* A symbol of a loadable module, which is loaded with its own symbols and stays. NULL: reason says
 * why. Any thread. */
void *paths_load(const char *module, const char *symbol, char *reason,
                 size_t reason_size) KEEL_MUST_CHECK;

#endif
