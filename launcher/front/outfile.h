/* The files of ranks' output (launcher/request/output_request.h). */
#ifndef LAUNCHER_FRONT_OUTFILE_H
#define LAUNCHER_FRONT_OUTFILE_H

#include <base/data/list.h>
#include <launcher/request/output_request.h>

/* Makes the folders that are named, and tries whether files of these ranks can be made there, or
 * replaced (0: of any), as far as their names are known. An error's reason names the path. Blocks
 * on the disk. */
int outfile_check(const struct output_request *output, uint32_t ranks, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;

/* An open file, which several streams may share. */
struct outfile {
    struct list link;
    char *path; /* owned */
    int fd;     /* owned */
    unsigned users;
};

/* Opens an empty file for a stream, with the folders above it, or takes the one that another stream
 * has. 0 or -errno. */
int outfile_open(struct outfile **file, struct list *all, const struct output_request *output,
                 const struct output_origin *origin) KEEL_MUST_CHECK;
/* The last stream closes it; some file systems tell of a full disk only then. NULL is allowed. 0 or
 * -errno. */
int outfile_close(struct outfile *file);

#endif
