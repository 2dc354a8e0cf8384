/* What the cases over tests/unit/pml/world.h share: ranks with one context, and calls that must
 * succeed. */
#ifndef TESTS_UNIT_PML_RANKS_H
#define TESTS_UNIT_PML_RANKS_H

#include <tests/lib/unit.h>
#include <tests/unit/pml/world.h>

enum { ANY = KEEL_PML_ANY_SOURCE, ANY_TAG = KEEL_PML_ANY_TAG, FIRST = 64, MAX = 256, LONG = 2000 };
enum { STANDARD = KEEL_PML_STANDARD, SYNC = KEEL_PML_SYNCHRONOUS, BUFFERED = KEEL_PML_BUFFERED };

extern struct keel_pml_context *ctx[WORLD_RANKS]; /* of start */
extern char source[1 << 16], target[1 << 16];     /* what is sent, and where it comes */
extern const struct world_rules calm, immediate, fetching;

/* Opens the ranks, and a context of all of them. */
void start(const struct world_rules *rules);
/* The other way, of those that live. */
void stop(void);

opal_convertor_t of(void *memory, size_t size);
struct keel_pml_request *isend(int from, int to, int32_t tag, size_t size, int mode);
struct keel_pml_request *irecv(int me, int32_t from, int32_t tag, size_t room);
void isend_and_forget(int from, int to, int32_t tag, size_t size);

bool is_done(struct keel_pml_request **request, struct keel_pml_status *status);
/* It ends within some rounds, with this. */
struct keel_pml_status ends(struct keel_pml_request **request, int error);
void never_ends(struct keel_pml_request **request);
/* The target has the first bytes of the source. */
void expect(const struct keel_pml_status *status, int32_t from, int32_t tag, size_t bytes);

#endif
