/* Output with tags: cuts a rank's output into lines and puts the tag in front of each.
 *
 *   [job,rank]<stdout>: text                                    --tag-output
 *   Fri Nov 20 05:12:07.123456 2026 text                        --timestamp-output
 *   Fri Nov 20 05:12:07.123456 2026 [job,rank]<stdout>: text    both
 *   [rank] text                                                 -l
 *   [namespace,rank]<stdout>: text                              --output tag-fullname
 *   [namespace,rank][host:pid]<stdout>: text                    --output tag-detailed
 *
 * A line is given on when it is whole, so that lines of several ranks never mix; one that is longer
 * than TAGS_LINE_MAX is given on in pieces of that size, each a line of its own. Pure: no
 * descriptor, no clock. */
#ifndef LAUNCHER_FRONT_TAGS_H
#define LAUNCHER_FRONT_TAGS_H

#include <keel/types.h>
#include <time.h>

#define TAGS_LINE_MAX 65536

struct tagger;

/* Takes a whole line with its tag and newline; data is borrowed for the time of the call. */
typedef void (*tags_emit_fn)(void *arg, const char *data, size_t size);

#define TAGS_TAG_MAX 400 /* a namespace and a host fit */

/* tag: what stands before the line, behind the time; copied, and at most TAGS_TAG_MAX - 1 bytes.
 * ORTE_ERR_OUT_OF_RESOURCE. */
int tagger_create(struct tagger **tagger, const char *tag, bool timestamped) KEEL_MUST_CHECK;
void tagger_destroy(struct tagger *tagger);
/* Bytes that the rank wrote at this time (CLOCK_REALTIME); a line has the time of its first byte.
 */
void tagger_feed(struct tagger *tagger, const char *data, size_t size, const struct timespec *now,
                 tags_emit_fn emit, void *arg);
/* The output has ended: gives on an unfinished last line, with a newline. */
void tagger_end(struct tagger *tagger, tags_emit_fn emit, void *arg);

#endif
