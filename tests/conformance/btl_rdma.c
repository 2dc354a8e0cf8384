/* put and get: every size and alignment, completion at the target, and what must be refused. The
 * targets lie in memory that all ranks see, so that each initiator checks them itself. */
#include <btl/memory/region.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define LOCAL_BYTES ((size_t) 4 << 20)

struct rdma {
    struct test *test;
    atomic_ulong completed;
    int status;
    bool in_call;          /* that is what the call returned */
    atomic_ulong messages; /* receive callbacks: must stay 0 */
    unsigned char *local;
    void *expected_address;
};

static void silent(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                   mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor;
    struct test *test = cbdata;
    ((struct rdma *) test->state)->messages++;
}

static void completed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      void *address, mca_btl_base_registration_handle_t *handle, void *context,
                      void *data, int status)
{
    struct rdma *rdma = data;
    struct test *test = rdma->test;
    must(test, btl == test->btl && endpoint == test->endpoints[test->right]);
    must(test, address == rdma->expected_address && handle == NULL && context == &rdma->status);
    rdma->status = status;
    rdma->completed++;
}

/* Runs one operation; returns its status, from the call or from the callback. */
static int operate(struct rdma *rdma, bool put, void *local, uint64_t remote, const void *handle,
                   size_t size)
{
    struct test *test = rdma->test;
    mca_btl_base_module_t *btl = test->btl;
    unsigned char copy[MCA_BTL_REG_HANDLE_MAX_SIZE];
    memcpy(copy, handle, btl->btl_registration_handle_size);
    rdma->expected_address = local;
    rdma->completed = 0;
    for (;;) {
        int status = (put ? btl->btl_put : btl->btl_get)(
            btl, test->endpoints[test->right], local, remote, NULL,
            (mca_btl_base_registration_handle_t *) (void *) copy, size, 0, MCA_BTL_NO_ORDER,
            completed, &rdma->status, rdma);
        if (status == 0) {
            break; /* maybe called back already; the handle is the caller's again in any case */
        }
        must(test, rdma->completed == 0);
        rdma->in_call = status < 0;
        if (status == 1 || !is_shortage(status)) {
            return status == 1 ? OPAL_SUCCESS : status;
        }
        pump(test);
    }
    memset(copy, 0xee, sizeof(copy));
    pump_until(test, &rdma->completed, 1);
    rdma->in_call = false;
    return rdma->status;
}

static mca_btl_base_registration_handle_t *open_region(struct test *test, int to, void *base,
                                                       size_t size, uint32_t flags, void *shown)
{
    struct mca_btl_base_endpoint_t *endpoint = to < 0 ? MCA_BTL_ENDPOINT_ANY : test->endpoints[to];
    mca_btl_base_registration_handle_t *handle =
        test->btl->btl_register_mem(test->btl, endpoint, base, size, flags);
    must(test, handle);
    memcpy(shown, handle, test->btl->btl_registration_handle_size);
    return handle;
}

static void rdma_begin(struct test *test, struct rdma *rdma)
{
    *rdma = (struct rdma){.test = test, .local = malloc(LOCAL_BYTES + 64)};
    must(test, rdma->local);
    test->state = rdma;
    for (int tag = 0; tag < 256; tag++) {
        on_tag(test, (uint8_t) tag, silent);
    }
}

static void rdma_end(struct test *test, struct rdma *rdma)
{
    must(test, rdma->messages == 0);
    meet(test);
    free(rdma->local);
}

/* One transfer between local + shift and the neighbour's data + offset, checked on both sides. */
static void transfer(struct rdma *rdma, bool put, size_t shift, size_t offset, size_t size)
{
    struct test *test = rdma->test;
    struct board *target = board_of(test, test->right);
    unsigned char *local = rdma->local + shift, *remote = target->data + offset;
    unsigned char *from = put ? local : remote, *to = put ? remote : local;
    unsigned seed = (unsigned) (size + offset * 3 + shift * 5 + put);
    unsigned char before =
        to[size]; /* the byte behind; the one in front, too, where there is one */
    unsigned char *front = put ? (offset > 0 ? to - 1 : NULL) : (shift > 0 ? to - 1 : NULL);
    pattern_fill(from, size, seed);
    memset(to, 0, size);
    to[size] = before = (unsigned char) (seed + 1);
    if (front) {
        *front = (unsigned char) (seed + 2);
    }
    must(test,
         operate(rdma, put, local, target->base + offset, target->handle, size) == OPAL_SUCCESS);
    must(test, pattern_is(to, size, seed));
    must(test, to[size] == before && (!front || *front == (unsigned char) (seed + 2)));
}

static bool can_rdma(struct test *test)
{
    return test->btl->btl_register_mem && (test->btl->btl_flags & MCA_BTL_FLAGS_RDMA) != 0;
}

static void transfers(struct test *test, bool put)
{
    size_t limit = put ? test->btl->btl_put_limit : test->btl->btl_get_limit;
    size_t alignment = put ? test->btl->btl_put_alignment : test->btl->btl_get_alignment;
    if (!can_rdma(test) || alignment > 1) {
        return;
    }
    static const size_t offsets[] = {0, 1, 7, 4095, 4096, 4097};
    static const size_t sizes[] = {0,     1,     7,     8,      63,      64,      65,     255,
                                   4031,  4095,  4096,  4097,   8191,    8193,    16384,  32767,
                                   32769, 65535, 65537, 131071, 1048576, 1048579, 3145733};
    struct rdma rdma;
    rdma_begin(test, &rdma);
    struct board *mine = board_of(test, test->rank);
    mine->base = (uint64_t) (uintptr_t) mine->data;
    mca_btl_base_registration_handle_t *handle = open_region(
        test, -1, mine->data, DATA_BYTES - 1, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    meet(test);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes) && sizes[s] <= limit; s++) {
        for (size_t o = 0; o < sizeof(offsets) / sizeof(*offsets); o++) {
            transfer(&rdma, put, (o * 3) % 64, offsets[o], sizes[s]);
        }
    }
    transfer(&rdma, put, 3, DATA_BYTES - 1 - 5000, 5000); /* up to the region's end */
    meet(test);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    rdma_end(test, &rdma);
}

/* One byte before, at and behind each place where a module or the machine cuts, at both ends. */
static void boundaries_are_crossed(struct test *test)
{
    const mca_btl_base_module_t *btl = test->btl;
    if (!can_rdma(test) || btl->btl_put_alignment > 1 || btl->btl_get_alignment > 1) {
        return;
    }
    const size_t places[] = {8, 64, 4096, btl->btl_eager_limit, btl->btl_max_send_size};
    struct rdma rdma;
    rdma_begin(test, &rdma);
    struct board *mine = board_of(test, test->rank);
    mine->base = (uint64_t) (uintptr_t) mine->data;
    mca_btl_base_registration_handle_t *handle = open_region(
        test, -1, mine->data, DATA_BYTES - 1, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    meet(test);
    for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
        for (unsigned i = 0; i < 3 * 3 * 3; i++) {
            size_t size = places[p] + i % 3 - 1, far = 63 + i / 3 % 3, near = 4095 + i / 9;
            if (size <= btl->btl_put_limit && size <= btl->btl_get_limit) {
                transfer(&rdma, true, near, far, size);
                transfer(&rdma, false, far, near, size);
            }
        }
    }
    meet(test);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    rdma_end(test, &rdma);
}

static void puts_land(struct test *test)
{
    transfers(test, true);
}

static void gets_fetch(struct test *test)
{
    transfers(test, false);
}

/* Many operations at a time, without waiting in between; each calls back once. */
struct batch {
    struct test *test;
    atomic_ulong completed;
    unsigned char calls[512];
};

static void one_of_many(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                        void *address, mca_btl_base_registration_handle_t *handle, void *context,
                        void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle;
    struct batch *batch = context;
    must(batch->test, status == OPAL_SUCCESS);
    must(batch->test, batch->calls[(uintptr_t) data]++ == 0);
    batch->completed++;
}

static void operations_overlap(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    enum { MANY = 512, BYTES = 8000 };
    mca_btl_base_module_t *btl = test->btl;
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    struct batch batch = {.test = test};
    unsigned char *local = malloc((size_t) MANY * BYTES);
    must(test, local);
    mine->base = (uint64_t) (uintptr_t) mine->data;
    mca_btl_base_registration_handle_t *handle =
        open_region(test, -1, mine->data, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    pattern_fill(mine->data, (size_t) MANY * BYTES, (unsigned) test->rank);
    pattern_fill(local, (size_t) MANY * BYTES, 77);
    meet(test);
    for (uintptr_t i = 0; i < MANY; i++) {
        bool put = i % 2;
        for (;;) {
            int status = (put ? btl->btl_put : btl->btl_get)(
                btl, test->endpoints[test->right], local + i * BYTES, target->base + i * BYTES,
                NULL, (void *) target->handle, BYTES, 0, MCA_BTL_NO_ORDER, one_of_many, &batch,
                (void *) i);
            if (status == 1) {
                one_of_many(btl, NULL, NULL, NULL, &batch, (void *) i, OPAL_SUCCESS);
            }
            if (status >= 0) {
                break;
            }
            must(test, is_shortage(status));
            pump(test);
        }
    }
    pump_until(test, &batch.completed, MANY);
    pump_idle(test);
    must(test, batch.completed == MANY);
    for (size_t i = 0; i < MANY * (size_t) BYTES; i++) {
        bool put = i / BYTES % 2;
        unsigned char *there = put ? target->data : local;
        must(test, there[i] == pattern(put ? 77 : (unsigned) test->right, i));
    }
    meet(test);
    must(test, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
    free(local);
    meet(test);
}

/* Without a callback an operation ends all the same: here the target sees it. */
static void no_callback_is_needed(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    mca_btl_base_module_t *btl = test->btl;
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    mine->base = (uint64_t) (uintptr_t) mine->data;
    mca_btl_base_registration_handle_t *handle =
        open_region(test, -1, mine->data, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    static unsigned char local[5000];
    memset(local, 3, sizeof(local));
    meet(test);
    for (size_t i = 0; i < 100; i++) {
        int status;
        do {
            status = btl->btl_put(btl, test->endpoints[test->right], local,
                                  target->base + i * sizeof(local), NULL, (void *) target->handle,
                                  sizeof(local), 0, MCA_BTL_NO_ORDER, NULL, NULL, NULL);
            must(test, status >= 0 || is_shortage(status));
            pump(test);
        } while (status < 0);
    }
    for (size_t i = 0; i < 100 * sizeof(local); i++) {
        while (*(volatile unsigned char *) &target->data[i] != 3) {
            pump(test);
        }
    }
    must(test, target->data[100 * sizeof(local)] == 0);
    meet(test);
    must(test, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
    meet(test);
}

/* Refused inside the call if the handle itself shows it, else by the target, in the callback. */
static void refused_once(struct rdma *rdma, bool put, const void *handle, uint64_t address,
                         size_t size)
{
    struct test *test = rdma->test;
    struct region_handle flat;
    memcpy(&flat, handle, sizeof(flat));
    bool covers = size <= UINT64_MAX - address && region_handle_covers(&flat, address, size);
    int status = operate(rdma, put, rdma->local, address, handle, size);
    must(test, status < 0 && (rdma->in_call == !covers || getenv("KEEL_MCA_fault")));
    must(test, covers || status == OPAL_ERR_VALUE_OUT_OF_BOUNDS || getenv("KEEL_MCA_fault"));
}

/* Tries a put and a get that must be refused, and checks that nothing was written anywhere. */
static void refused_with(struct rdma *rdma, const void *handle, uint64_t address, size_t size,
                         bool put, bool get)
{
    struct test *test = rdma->test;
    struct board *target = board_of(test, test->right);
    pattern_fill(target->data, 65536, 21);
    pattern_fill(rdma->local, 65536, 22);
    if (put) {
        refused_once(rdma, true, handle, address, size);
    }
    if (get) {
        refused_once(rdma, false, handle, address, size);
    }
    must(test, pattern_is(target->data, 65536, 21));
    must(test, pattern_is(rdma->local, 65536, 22));
}

static void forged_handles_are_refused(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    struct rdma rdma;
    rdma_begin(test, &rdma);
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    uint64_t base = (uint64_t) (uintptr_t) target->data;
    mine->base = (uint64_t) (uintptr_t) mine->data;
    /* Other regions live beside it, for a forged index to hit. */
    unsigned char unused[MCA_BTL_REG_HANDLE_MAX_SIZE];
    mca_btl_base_registration_handle_t *handles[8];
    for (int i = 0; i < 8; i++) {
        handles[i] = open_region(test, -1, mine->data, 65536, MCA_BTL_REG_FLAG_ACCESS_ANY,
                                 i == 3 ? mine->handle : unused);
    }
    meet(test);
    for (size_t bit = 0; bit < 64; bit++) { /* index and generation */
        unsigned char forged[MCA_BTL_REG_HANDLE_MAX_SIZE];
        memcpy(forged, target->handle, sizeof(forged));
        forged[bit / 8] ^= (unsigned char) (1u << bit % 8);
        refused_with(&rdma, forged, base + 100, 1000, true, true);
    }
    unsigned char zero[MCA_BTL_REG_HANDLE_MAX_SIZE] = {0}, ones[MCA_BTL_REG_HANDLE_MAX_SIZE];
    memset(ones, 0xff, sizeof(ones));
    refused_with(&rdma, zero, base, 8, true, true);
    refused_with(&rdma, ones, base, 8, true, true);
    transfer(&rdma, true, 0, 0, 1000); /* the true handle still works */
    meet(test);
    for (int i = 0; i < 8; i++) {
        must(test, test->btl->btl_deregister_mem(test->btl, handles[i]) == OPAL_SUCCESS);
    }
    rdma_end(test, &rdma);
}

/* The rest of a handle may be changed at will: it opens nothing outside of what it named. */
static void forged_hints_open_nothing(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    struct rdma rdma;
    rdma_begin(test, &rdma);
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    uint64_t base = (uint64_t) (uintptr_t) target->data;
    mca_btl_base_registration_handle_t *handle =
        open_region(test, -1, mine->data + 4096, 4096, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    meet(test);
    for (size_t bit = 64; bit < test->btl->btl_registration_handle_size * 8; bit++) {
        unsigned char forged[MCA_BTL_REG_HANDLE_MAX_SIZE];
        memcpy(forged, target->handle, sizeof(forged));
        forged[bit / 8] ^= (unsigned char) (1u << bit % 8);
        refused_with(&rdma, forged, base, 4096, true, true);
        refused_with(&rdma, forged, base + 8192, 8, true, true);
        refused_with(&rdma, forged, base + 8184, 16, true, true);
    }
    meet(test);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    rdma_end(test, &rdma);
}

static void stale_handles_are_refused(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    struct rdma rdma;
    rdma_begin(test, &rdma);
    mca_btl_base_module_t *btl = test->btl;
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    uint64_t base = (uint64_t) (uintptr_t) target->data;
    mine->base = (uint64_t) (uintptr_t) mine->data;
    mca_btl_base_registration_handle_t *handle =
        open_region(test, -1, mine->data, 65536, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    meet(test);
    transfer(&rdma, true, 0, 0, 1000);
    meet(test);
    must(test, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
    meet(test);
    refused_with(&rdma, target->handle, base, 1000, true, true);
    meet(test);
    /* The place is used again: the old handle stays dead, the new one lives. */
    handle = open_region(test, -1, mine->data, 65536, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle2);
    meet(test);
    refused_with(&rdma, target->handle, base, 1000, true, true);
    must(test, operate(&rdma, true, rdma.local, base, target->handle2, 1000) == OPAL_SUCCESS);
    meet(test);
    must(test, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
    rdma_end(test, &rdma);
}

/* Layers above have 16 bytes for a handle: with them, and bytes of the region, a peer rebuilds one.
 */
static void keys_and_ranges_rebuild_handles(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    struct rdma rdma;
    rdma_begin(test, &rdma);
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    uint64_t base = (uint64_t) (uintptr_t) target->data, key[REGION_KEY_WORDS];
    uint64_t handle[MCA_BTL_REG_HANDLE_MAX_SIZE / sizeof(uint64_t)];
    mca_btl_base_registration_handle_t *shown =
        open_region(test, -1, mine->data, 65536, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    btl_key_of(test->btl, shown, key);
    memcpy(mine->handle2, key, sizeof(key));
    meet(test);
    memcpy(key, target->handle2, sizeof(key));
    for (size_t offset = 0; offset <= 65536 - 5000; offset += 60536) {
        btl_handle_of(test->btl, key, base + offset, 5000, handle);
        pattern_fill(rdma.local, 5000, (unsigned) offset);
        must(test, operate(&rdma, true, rdma.local, base + offset, handle, 5000) == OPAL_SUCCESS);
        must(test, pattern_is(target->data + offset, 5000, (unsigned) offset));
        must(test, operate(&rdma, false, rdma.local + 8, base + offset + 9, handle, 4000) ==
                       OPAL_SUCCESS);
        must(test, memcmp(rdma.local + 8, target->data + offset + 9, 4000) == 0);
    }
    meet(test);
    must(test, test->btl->btl_deregister_mem(test->btl, shown) == OPAL_SUCCESS);
    rdma_end(test, &rdma);
}

static void bounds_are_kept(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    struct rdma rdma;
    rdma_begin(test, &rdma);
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    uint64_t base = (uint64_t) (uintptr_t) target->data + 4096;
    mca_btl_base_registration_handle_t *handle =
        open_region(test, -1, mine->data + 4096, 4096, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    meet(test);
    const struct {
        uint64_t address;
        size_t size;
    } outside[] = {
        {base - 1, 1},
        {base - 1, 4096},
        {base, 4097},
        {base + 4096, 1},
        {base + 4095, 2},
        {0, 1},
        {0, 60000},
        {UINT64_MAX - 3, 8},
        {UINT64_MAX, 1},
        {base + 1, 4096},
        {base - 4096, 60000},
        {base + (1ull << 40), 8},
        {UINT64_MAX - 100, 4},
        {base - 60000, 1},
        {base, 60000},
    };
    for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
        refused_with(&rdma, target->handle, outside[i].address, outside[i].size, true, true);
    }
    for (int put = 0; put < 2; put++) { /* from or to nowhere */
        must(test, operate(&rdma, put, NULL, base, target->handle, 8) < 0 && rdma.in_call);
        must(test, operate(&rdma, put, NULL, base, target->handle, 0) == OPAL_SUCCESS);
    }
    must(test, operate(&rdma, true, rdma.local, base, target->handle, 4096) == OPAL_SUCCESS);
    meet(test);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    rdma_end(test, &rdma);
}

/* What begins inside and ends outside is refused as a whole, however many pieces it has. */
static void large_ones_are_refused_as_a_whole(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    enum { REGION = 3 << 20 };
    struct rdma rdma;
    rdma_begin(test, &rdma);
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    uint64_t base = (uint64_t) (uintptr_t) target->data;
    mca_btl_base_registration_handle_t *handle =
        open_region(test, -1, mine->data, REGION, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    meet(test);
    memset(target->data, 5, REGION + 1);
    memset(rdma.local, 6, REGION + 1);
    for (int put = 0; put < 2; put++) {
        must(test, operate(&rdma, put, rdma.local, base, target->handle, REGION + 1) < 0);
        for (size_t i = 0; i <= REGION; i++) {
            must(test, target->data[i] == 5 && rdma.local[i] == 6);
        }
    }
    must(test, operate(&rdma, true, rdma.local, base, target->handle, REGION) == OPAL_SUCCESS);
    meet(test);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    rdma_end(test, &rdma);
}

static void rights_are_kept(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    struct rdma rdma;
    rdma_begin(test, &rdma);
    mca_btl_base_module_t *btl = test->btl;
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    uint64_t base = (uint64_t) (uintptr_t) target->data;
    mca_btl_base_registration_handle_t *reads =
        open_region(test, -1, mine->data, 65536, MCA_BTL_REG_FLAG_REMOTE_READ, mine->handle);
    mca_btl_base_registration_handle_t *writes =
        open_region(test, -1, mine->data, 65536, MCA_BTL_REG_FLAG_REMOTE_WRITE, mine->handle2);
    meet(test);
    refused_with(&rdma, target->handle, base, 1000, true, false);
    refused_with(&rdma, target->handle2, base, 1000, false, true);
    must(test, operate(&rdma, false, rdma.local, base, target->handle, 1000) == OPAL_SUCCESS);
    must(test, operate(&rdma, true, rdma.local, base, target->handle2, 1000) == OPAL_SUCCESS);
    meet(test);
    must(test, btl->btl_deregister_mem(btl, reads) == OPAL_SUCCESS);
    must(test, btl->btl_deregister_mem(btl, writes) == OPAL_SUCCESS);
    rdma_end(test, &rdma);
}

/* A region opened to one endpoint is closed to the others. */
static void regions_of_one_endpoint(struct test *test)
{
    if (!can_rdma(test)) {
        return;
    }
    struct rdma rdma;
    rdma_begin(test, &rdma);
    mca_btl_base_module_t *btl = test->btl;
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    uint64_t base = (uint64_t) (uintptr_t) target->data;
    mca_btl_base_registration_handle_t *theirs =
        open_region(test, test->left, mine->data, 65536, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle);
    mca_btl_base_registration_handle_t *others = open_region(
        test, test->right, mine->data, 65536, MCA_BTL_REG_FLAG_ACCESS_ANY, mine->handle2);
    meet(test);
    must(test, operate(&rdma, true, rdma.local, base, target->handle, 1000) == OPAL_SUCCESS);
    refused_with(&rdma, target->handle2, base, 1000, true, true);
    meet(test);
    must(test, btl->btl_deregister_mem(btl, theirs) == OPAL_SUCCESS);
    must(test, btl->btl_deregister_mem(btl, others) == OPAL_SUCCESS);
    rdma_end(test, &rdma);
}

const struct test_case rdma_cases[] = {
    {.name = "put", .run = puts_land, .min_size = 1},
    {.name = "put, cards late", .run = puts_land, .min_size = 1, .late_cards = true},
    {.name = "get", .run = gets_fetch, .min_size = 1},
    {.name = "boundaries", .run = boundaries_are_crossed, .min_size = 1},
    {.name = "operations overlap", .run = operations_overlap, .min_size = 1},
    {.name = "no callback", .run = no_callback_is_needed, .min_size = 1},
    {.name = "forged handles",
     .run = forged_handles_are_refused,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "forged hints",
     .run = forged_hints_open_nothing,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "stale handles",
     .run = stale_handles_are_refused,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "keys", .run = keys_and_ranges_rebuild_handles, .min_size = 1},
    {.name = "bounds", .run = bounds_are_kept, .min_size = 1, .asks_too_much = true},
    {.name = "bounds of large ones",
     .run = large_ones_are_refused_as_a_whole,
     .min_size = 1,
     .asks_too_much = true},
    {.name = "rights", .run = rights_are_kept, .min_size = 1, .asks_too_much = true},
    {.name = "regions of one endpoint",
     .run = regions_of_one_endpoint,
     .others = true,
     .min_size = 3,
     .asks_too_much = true},
    {.name = NULL},
};
