/* As much as a module takes, and more: limits of every kind, a million messages, several senders,
 * puts and atomics until there is no room. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define TAG 140

/* ---- one byte too many ---- */

static void operated(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *address, mca_btl_base_registration_handle_t *handle, void *context,
                     void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle;
    must((struct test *) context, status == OPAL_SUCCESS);
    ++*(atomic_ulong *) data;
}

static void arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor;
    ++*(atomic_ulong *) ((struct test *) cbdata)->state;
}

static void close_data(struct test *test, mca_btl_base_registration_handle_t *handle)
{
    meet(test);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    meet(test);
}

static void nothing_goes_above_a_limit(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    struct board *target = board_of(test, test->right);
    size_t max = btl->btl_max_send_size;
    atomic_ulong messages = 0;
    test->state = &messages;
    on_tag(test, TAG, arrived);
    mca_btl_base_registration_handle_t *handle =
        show_data(test, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    mca_btl_base_descriptor_t *descriptor = alloc_wait(test, test->right, max, 0);
    memset(descriptor->des_segments[0].seg_addr.pval, 1, max);
    descriptor->des_segments[0].seg_len = max + 1;
    must(test, btl->btl_send(btl, endpoint, descriptor, TAG) == OPAL_ERR_BAD_PARAM);
    must(test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);
    const struct {
        mca_btl_base_module_put_fn_t call;
        size_t limit;
    } calls[] = {{btl->btl_put, btl->btl_put_limit}, {btl->btl_get, btl->btl_get_limit}};
    for (int i = 0; i < 2; i++) {
        static unsigned char local[8];
        if (calls[i].limit < SIZE_MAX) {
            must(test, calls[i].call(btl, endpoint, local, target->base, NULL,
                                     (void *) target->handle, calls[i].limit + 1, 0,
                                     MCA_BTL_NO_ORDER, operated, test, &messages) < 0);
        }
    }
    pump_idle(test);
    must(test, messages == 0);
    close_data(test, handle);
}

/* ---- a million messages ---- */

struct run {
    _Atomic uint64_t next;
};

static void take_in_order(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                          mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct run *run = test->state;
    uint64_t number;
    must(test, descriptor->des_segments[0].seg_len == sizeof(number));
    memcpy(&number, descriptor->des_segments[0].seg_addr.pval, sizeof(number));
    must(test, number == run->next++);
}

static void a_million_arrive(struct test *test)
{
    /* libfabric's providers over sockets take a minute for a million; datagrams, ten seconds. */
    bool slow = strcmp(test->module, "ofi") == 0 || strcmp(test->module, "udgram") == 0;
    const uint64_t all = slow && !getenv("KEEL_TEST_SLOW") ? 100000 : 1000000;
    struct run run = {0};
    if (test->size > 2) {
        return;
    }
    test->state = &run;
    on_tag(test, TAG, take_in_order);
    meet(test);
    bool sends = test->rank == 0 || test->right == test->rank;
    bool receives = test->rank == 1 || test->right == test->rank;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    for (uint64_t i = 0; sends && i < all;) {
        int status = test->btl->btl_sendi(test->btl, endpoint, NULL, &i, sizeof(i), 0,
                                          MCA_BTL_NO_ORDER, 0, TAG, NULL);
        must(test, status == OPAL_SUCCESS || is_shortage(status));
        i += status == OPAL_SUCCESS;
        if (status != OPAL_SUCCESS) {
            pump(test);
        }
    }
    while (receives && run.next < all) {
        pump(test);
    }
    meet(test);
}

/* ---- several senders: none is starved ---- */

struct shares {
    atomic_ulong from[16];
    unsigned long turn; /* the largest lead of one over another, while both have more to come */
};

static void take_share(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct shares *shares = test->state;
    size_t size;
    uint32_t from;
    memcpy(&from, received(test, descriptor, &size), sizeof(from));
    must(test, from < (uint32_t) test->size);
    shares->from[from]++;
    for (int i = 1; i < test->size; i++) {
        unsigned long sent = atomic_load(&board_of(test, i)->done);
        if (shares->from[i] < sent && shares->from[from] > shares->from[i] &&
            shares->from[from] - shares->from[i] > shares->turn) {
            shares->turn = shares->from[from] - shares->from[i];
        }
    }
}

/* What several have sent while nobody took it is taken in turns: when all of one is taken, the
 * others' is not all still there. ofi's waits in one queue of the provider's, and comes in the
 * order of its arrival: where one was done before the next began, in that order. */
static void senders_take_turns(struct test *test)
{
    enum { CAP = 20000, BYTES = 1000 };
    struct shares shares = {.turn = 0};
    mca_btl_base_module_t *btl = test->btl;
    unsigned long count = 0, least = CAP;
    test->state = &shares;
    on_tag(test, TAG, take_share);
    if (test->rank != 0) {
        send_bytes(test, 0, &test->rank, sizeof(test->rank), TAG); /* the way is open */
    }
    meet(test);
    pump_idle(test);
    meet(test);
    shares = (struct shares){.turn = 0};
    halt(test);
    unsigned char bytes[BYTES] = {0};
    memcpy(bytes, &test->rank, sizeof(test->rank));
    for (int tries = 0; test->rank != 0 && tries < 1000 && count < CAP; tries++) {
        while (count < CAP && btl->btl_sendi(btl, test->endpoints[0], NULL, bytes, BYTES, 0,
                                             MCA_BTL_NO_ORDER, 0, TAG, NULL) == OPAL_SUCCESS) {
            count++;
        }
        btl_progress(); /* what it keeps goes on its way */
    }
    atomic_store(&board_of(test, test->rank)->done, count);
    resume(test);
    for (int i = 1; i < test->size; i++) {
        unsigned long sent = atomic_load(&board_of(test, i)->done);
        least = sent < least ? sent : least;
    }
    meet(test);
    for (int i = 1; test->rank == 0 && i < test->size; i++) {
        while (shares.from[i] < atomic_load(&board_of(test, i)->done)) {
            pump(test);
        }
    }
    bool by_arrival = strcmp(test->module, "ofi") == 0;
    must(test, test->rank != 0 || least < 100 || by_arrival || shares.turn < least);
    meet(test);
}

/* ---- until there is no room ---- */

static void operations_fill_up(struct test *test, bool atomics)
{
    enum { CAP = 2000000 };
    mca_btl_base_module_t *btl = test->btl;
    struct board *target = board_of(test, test->right);
    static unsigned char local[4096];
    static uint64_t before;
    atomic_ulong ended = 0;
    unsigned long accepted = 0;
    bool full = false, waited = false;
    mca_btl_base_registration_handle_t *handle =
        show_data(test, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY);
    memset(board_of(test, test->rank)->data, 0, 64);
    meet(test);
    halt(test);
    for (unsigned long i = 0; i < CAP && !full; i++) {
        int status =
            atomics ? btl->btl_atomic_fop(btl, test->endpoints[test->right], &before, target->base,
                                          NULL, (void *) target->handle, MCA_BTL_ATOMIC_ADD, 1, 0,
                                          MCA_BTL_NO_ORDER, operated, test, &ended)
                    : btl->btl_put(btl, test->endpoints[test->right], local, target->base + 4096,
                                   NULL, (void *) target->handle, sizeof(local), 0,
                                   MCA_BTL_NO_ORDER, operated, test, &ended);
        full = is_shortage(status);
        must(test, full || status == 0 || (atomics && status == 1));
        accepted += status == 0;
        waited = waited || ended < accepted;
    }
    /* A module that is done at once never has to refuse. */
    must(test, full || !waited);
    resume(test); /* nobody polled until here */
    pump_until(test, &ended, accepted);
    must(test, !full || accepted > 0);
    close_data(test, handle);
}

/* A module that delivers inside the send is full only where calls are nested too deep for that. */
struct nest {
    unsigned depth;
    bool full;
    _Atomic uint64_t sent, next;
};

static void take_and_nest(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                          mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) tag;
    struct test *test = cbdata;
    struct nest *nest = test->state;
    uint64_t number;
    memcpy(&number, descriptor->des_segments[0].seg_addr.pval, sizeof(number));
    must(test, number == nest->next++);
    nest->depth++;
    while (!nest->full && nest->sent < 2000000) {
        number = nest->sent++;
        nest->full =
            btl->btl_sendi(btl, test->endpoints[test->right], NULL, &number, sizeof(number), 0,
                           MCA_BTL_NO_ORDER, 0, TAG, NULL) != OPAL_SUCCESS;
        nest->sent -= nest->full;
        if (nest->depth < 64 && nest->next == nest->sent) {
            break; /* that one was delivered inside the call */
        }
    }
    nest->depth--;
}

static void nested_calls_fill_up(struct test *test)
{
    struct nest nest = {.sent = 1};
    uint64_t zero = 0;
    if (test->right != test->rank) {
        return;
    }
    test->state = &nest;
    on_tag(test, TAG, take_and_nest);
    must(test,
         test->btl->btl_sendi(test->btl, test->endpoints[test->right], NULL, &zero, sizeof(zero), 0,
                              MCA_BTL_NO_ORDER, 0, TAG, NULL) == OPAL_SUCCESS);
    while (nest.next < nest.sent) {
        pump(test);
    }
    must(test, nest.full && nest.sent > 64);
    meet(test);
}

static void puts_fill_up(struct test *test)
{
    if (test->btl->btl_register_mem && test->btl->btl_flags & MCA_BTL_FLAGS_PUT) {
        operations_fill_up(test, false);
    }
}

static void atomics_fill_up(struct test *test)
{
    if (test->btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_FOPS) {
        operations_fill_up(test, true);
    }
}

/* ---- a region that ends while a peer writes to it ---- */

static void ended_well_or_refused(mca_btl_base_module_t *btl,
                                  struct mca_btl_base_endpoint_t *endpoint, void *address,
                                  mca_btl_base_registration_handle_t *handle, void *context,
                                  void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle;
    struct test *test = context;
    must(test, status == OPAL_SUCCESS || status == OPAL_ERR_PERM);
    *(atomic_int *) data = status;
}

/* One put or get of size bytes; its status. */
static int access_once(struct test *test, bool put, void *local, size_t size)
{
    struct board *target = board_of(test, test->right);
    mca_btl_base_module_t *btl = test->btl;
    atomic_int result = 1;
    int status;
    do {
        status = (put ? btl->btl_put : btl->btl_get)(
            btl, test->endpoints[test->right], local, target->base, NULL, (void *) target->handle,
            size, 0, MCA_BTL_NO_ORDER, ended_well_or_refused, test, &result);
        pump(test);
    } while (is_shortage(status));
    while (status == 0 && result == 1) {
        pump(test);
    }
    return status == 0 ? result : status;
}

static void regions_end_under_way(struct test *test)
{
    enum { BYTES = 100000 };
    mca_btl_base_module_t *btl = test->btl;
    struct board *mine = board_of(test, test->rank), *left = board_of(test, test->left);
    unsigned char *local = calloc(1, BYTES);
    if (!btl->btl_register_mem || test->size > 2) {
        free(local);
        return;
    }
    for (unsigned round = 0; round < 10; round++) {
        mca_btl_base_registration_handle_t *handle =
            show_data(test, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY);
        unsigned puts = 0;
        bool open = true;
        atomic_store(&mine->done, 0);
        meet(test);
        while (open || !atomic_load(&mine->done) || !atomic_load(&left->done)) {
            int status =
                atomic_load(&mine->done) ? OPAL_ERR_PERM : access_once(test, true, local, BYTES);
            must(test, status == OPAL_SUCCESS || status == OPAL_ERR_PERM);
            if (status == OPAL_ERR_PERM) {
                atomic_store(&mine->done, 1); /* refused: my left one's doing is no more */
            }
            if (open && ++puts == 3 + round) {
                must(test, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
                open = false;
            }
            pump(test);
        }
        meet(test);
        memset(mine->data, 0x5a, BYTES);
        meet(test);
        must(test, access_once(test, true, local, BYTES) == OPAL_ERR_PERM);
        meet(test);
        for (size_t i = 0; i < BYTES; i++) {
            must(test, mine->data[i] == 0x5a);
        }
        meet(test);
    }
    free(local);
}

/* Ends the region as soon as the neighbour, who gets it, has begun. */
static void end_under_a_get(struct test *test, mca_btl_base_registration_handle_t *handle,
                            unsigned long round, unsigned char after, size_t size)
{
    struct board *mine = board_of(test, test->rank), *other = board_of(test, test->left);
    while (atomic_load(&other->done) < round) {
        minihost_check(test->host);
    }
    /* In turn: a module that needs me begins, and one that does not is not waited for. */
    for (volatile unsigned long i = 0; i < 1000 * round; i++) {
        if (round % 2) {
            btl_progress();
        }
    }
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    memset(mine->data + size / 2, after, size / 2);
}

/* What a get brings is from before the region ended, or it fails. */
static void gets_end_with_the_region(struct test *test)
{
    enum { BYTES = 2 << 20, BEFORE = 0x11, AFTER = 0x5a };
    struct board *mine = board_of(test, test->rank);
    if (!test->btl->btl_register_mem || test->size > 2 || test->right == test->rank) {
        return;
    }
    unsigned char *local = calloc(1, BYTES);
    must(test, local);
    for (unsigned long round = 1; round <= 30; round++) {
        memset(mine->data, BEFORE, BYTES);
        mca_btl_base_registration_handle_t *handle =
            show_data(test, BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY);
        meet(test);
        if (test->rank == 1) {
            end_under_a_get(test, handle, round, AFTER, BYTES);
            meet(test);
        } else {
            atomic_store(&mine->done, round);
            int status = access_once(test, false, local, BYTES);
            must(test, status == OPAL_SUCCESS || status == OPAL_ERR_PERM);
            must(test, status != OPAL_SUCCESS || !memchr(local, AFTER, BYTES));
            meet(test);
            must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
        }
    }
    free(local);
}

const struct test_case load_cases[] = {
    {.name = "limit and one",
     .run = nothing_goes_above_a_limit,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "a million", .run = a_million_arrive, .min_size = 1},
    {.name = "turns",
     .run = senders_take_turns,
     .min_size = 3,
     .others = true,
     .undisturbed = true},
    {.name = "full in callbacks", .run = nested_calls_fill_up, .min_size = 1, .undisturbed = true},
    {.name = "full with puts", .run = puts_fill_up, .min_size = 1, .undisturbed = true},
    {.name = "full with atomics", .run = atomics_fill_up, .min_size = 1, .undisturbed = true},
    {.name = "regions end", .run = regions_end_under_way, .min_size = 1, .asks_too_much = true},
    {.name = "regions end, get",
     .run = gets_end_with_the_region,
     .min_size = 1,
     .asks_too_much = true},
    {.name = NULL},
};
