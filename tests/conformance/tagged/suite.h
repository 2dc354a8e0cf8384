/* The conformance program of messages by source and tag (keel/pml.h): one source of cases, over a
 * simulated PTL and over the modules of the data plane.
 *
 * A case is a script of what all ranks do, in order. Over modules each rank is a process, which
 * walks through the whole script and does its own part; in the simulation one process plays all
 * ranks. So a step names its rank, waits only for what other ranks did in steps above, and two
 * steps of different ranks have no order but by meet. With one rank, first and last are the same.
 */
#ifndef TESTS_CONFORMANCE_TAGGED_SUITE_H
#define TESTS_CONFORMANCE_TAGGED_SUITE_H

#include <keel/pml.h>
#include <stdbool.h>
#include <string.h>
#include <tests/lib/minihost.h>
#include <tests/lib/pattern.h>

enum { RANKS_MOST = 4, PIECES = 3, LIMITS_MOST = 8 };
enum { ANY = KEEL_PML_ANY_SOURCE, ANY_TAG = KEEL_PML_ANY_TAG };

struct pml_case {
    const char *name;
    void (*run)(void);
    bool drawn; /* by the seed: it runs with many */
    bool ends;  /* a rank ends: it is the last one */
};
#define PML_CASE(function, ...)                         \
    {                                                   \
        .name = #function, .run = function, __VA_ARGS__ \
    }
extern const struct pml_case message_cases[], request_cases[], plan_cases[], end_cases[];

/* What messages go over. */
struct ground {
    void (*open)(void);
    void (*close)(void);
    /* Runs the case, perhaps in many variations, between begin and end. */
    void (*cover)(const struct pml_case *test);
    opal_proc_t *(*proc)(int rank);
    int (*context)(int rank, uint32_t id, opal_proc_t *const *members, size_t count, int32_t me,
                   struct keel_pml_context **context);
    int (*progress)(void);
    void (*meet)(void);
    /* The rank is gone, and the others know; nobody meets after that. */
    void (*lose)(int rank);
    int burst;       /* messages of a flood */
    unsigned stride; /* of so many ways to exchange messages one is taken */
};
extern const struct ground simulation, modules;

/* Of this run. */
extern const struct ground *ground;
extern struct minihost *host;
extern const char *module_names;
extern int ranks, last, myself; /* last: the last rank; myself: all if negative */
extern unsigned seed;
extern size_t limits[LIMITS_MOST], limit_count; /* sizes at which messages go another way */
extern size_t most, long_bytes;                 /* the longest message; one above all limits */

#define must(condition) minihost_must(host, condition)
#define succeeds(call) must((call) == OPAL_SUCCESS)

/* Open and free the ranks' contexts of all ranks. */
void begin(void);
void end(void);
void meet(void);
void lose(int rank);
bool plays(int rank);
struct keel_pml_context *context_of(int rank);
struct keel_pml_context *context_open(int rank, uint32_t id, opal_proc_t *const *members,
                                      size_t count, int32_t me);
/* A number below the bound; which they are depends on where they start alone. */
uint32_t draw(uint32_t bound);
void draw_from(unsigned start);

/* Memory, to be freed, in one piece, or in some, the last of which is the message's first. */
struct buffer {
    uint8_t *bytes;
    struct iovec pieces[PIECES];
    opal_convertor_t data;
};
void buffer_open(struct buffer *buffer, size_t size, bool scattered);
void buffer_fill(const struct buffer *buffer, size_t size, unsigned pattern);
bool buffer_is(const struct buffer *buffer, size_t size, unsigned pattern);

/* Steps. A rank that is not played does nothing, and has no request. All messages are the first
 * bytes of one pattern. */
struct keel_pml_request *isend(int from, int to, int32_t tag, size_t size, keel_pml_mode_t mode);
struct keel_pml_request *irecv(int me, int32_t from, int32_t tag, size_t room);
/* Waits for its end, which is this one; the status is empty where the rank is not played. */
struct keel_pml_status ends(int me, struct keel_pml_request **request, int error);
void sent(int me, struct keel_pml_request **request);
void received(int me, struct keel_pml_request **request, int from, int32_t tag, size_t bytes);
/* What the last receive of the rank left. */
uint8_t *target_of(int me);
opal_convertor_t source_data(size_t size);
opal_convertor_t target_data(int me, size_t size);
void expect(int me, const struct keel_pml_status *status, int from, int32_t tag, size_t bytes);

#endif
