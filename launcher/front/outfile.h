/* The files of --output-filename: DIR/1/rank.RANK/stdout and stderr. */
#ifndef LAUNCHER_FRONT_OUTFILE_H
#define LAUNCHER_FRONT_OUTFILE_H

#include <keel/types.h>

#define OUTFILE_JOB 1u

/* Makes folder, and tries whether files of these ranks can be made in it, or replaced (0: of any).
 * An error's reason names the path. Blocks on the disk. */
int outfile_check(const char *folder, uint32_t ranks, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* Opens an empty file for a rank's stdout (1) or stderr (2): a descriptor or -errno. */
int outfile_open(const char *folder, uint32_t rank, int number) KEEL_MUST_CHECK;

#endif
