/* Where the ranks' output goes and how its lines are marked: what --output, --output-filename and
 * their kin ask for. Pure. */
#ifndef LAUNCHER_REQUEST_OUTPUT_REQUEST_H
#define LAUNCHER_REQUEST_OUTPUT_REQUEST_H

#include <keel/types.h>

/* What stands before a line. */
enum output_tag {
    OUTPUT_TAG_NONE,
    OUTPUT_TAG_RANK,     /* [rank] */
    OUTPUT_TAG_JOB,      /* [job,rank]<stdout>: */
    OUTPUT_TAG_FULLNAME, /* [namespace,rank]<stdout>: */
    OUTPUT_TAG_DETAILED, /* [namespace,rank][host:pid]<stdout>: */
};

enum output_files {
    OUTPUT_FILES_NONE,
    OUTPUT_FILES_DIR,     /* PATH/job/rank.RANK/stdout */
    OUTPUT_FILES_NAME,    /* PATH.RANK.stdout */
    OUTPUT_FILES_PATTERN, /* PATH.stdout, with conversions in PATH */
};

struct output_request {
    enum output_tag tag;
    bool timestamp;
    bool raw; /* bytes as they come: no tags, no times, no whole lines in shared files */
    enum output_files files;
    char *path;    /* owned; NULL: no files */
    bool no_copy;  /* files alone, and not keelrun's own streams as well */
    bool no_jobid; /* of DIR: without the job's folder */
    char *ranks;   /* --output-ranks; owned: a list as "0,2-5"; NULL: the output of all */
};

/* Whose output it is. */
struct output_origin {
    uint32_t source; /* whom to give credit */
    uint32_t rank, pid;
    const char *node; /* borrowed, as the next */
    const char *nspace;
    int number; /* 1: stdout, 2: stderr */
};

/* The job's number, which is the same in all jobs. */
#define OUTPUT_JOB 1u

/* What --output says: words with commas between them. "merge-stderr-to-stdout" sets *merge.
 * ORTE_ERR_BAD_PARAM: reason says what is wrong. */
int output_parse(struct output_request *output, const char *words, bool *merge, char *reason,
                 size_t reason_size) KEEL_MUST_CHECK;
/* What --output-filename says: DIR, with qualifiers behind colons. Errors as above. */
int output_parse_dir(struct output_request *output, const char *text, char *reason,
                     size_t reason_size) KEEL_MUST_CHECK;
void output_request_fini(struct output_request *output);

/* Do several ranks write the same file? */
bool output_is_shared(const struct output_request *output);
/* Does the path depend on more than rank and stream? */
bool output_needs_node(const struct output_request *output);
/* The file of a stream, of a request that has files; malloc'd, NULL: no memory. */
char *output_path(const struct output_request *output,
                  const struct output_origin *origin) KEEL_MUST_CHECK;

#endif
