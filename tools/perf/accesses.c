/* Tests of put, get and atomics: from the call to the callback, when the target has it. */
#include <config.h>

#include <tools/perf/test.h>

enum { ATOMIC_BYTES = 8, ATOMIC32_BYTES = 4 };

static const char *needs_put(const struct pair *pair)
{
    return pair->btl->btl_flags & MCA_BTL_FLAGS_PUT ? NULL : "it has no put";
}

static const char *needs_get(const struct pair *pair)
{
    return pair->btl->btl_flags & MCA_BTL_FLAGS_GET ? NULL : "it has no get";
}

static const char *needs_fetch_and_add(const struct pair *pair)
{
    return pair->btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_FOPS &&
                   pair->btl->btl_atomic_flags & MCA_BTL_ATOMIC_SUPPORTS_ADD
               ? NULL
               : "it has no fetch-and-add";
}

static const char *needs_32_bit(const struct pair *pair)
{
    const struct keel_btl_ext *ext = keel_btl_ext(pair->btl);
    bool has = ext && (ext->atomic_flags & MCA_BTL_ATOMIC_SUPPORTS_32BIT);
    return has ? needs_fetch_and_add(pair) : "it has no 32-bit atomics";
}

static void completed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      void *local_address, mca_btl_base_registration_handle_t *local_handle,
                      void *context, void *cbdata, int status)
{
    (void) btl, (void) endpoint, (void) local_address, (void) local_handle, (void) context;
    struct pair *pair = cbdata;
    pair->under_way--;
    pair->status = pair->status == 0 && status < 0 ? status : pair->status;
}

/* Starts one access of size bytes at an offset. */
typedef int access_fn(struct pair *pair, size_t offset, size_t size);

static mca_btl_base_registration_handle_t *remote_handle(struct pair *pair)
{
    return pair->btl->btl_register_mem ? (void *) pair->remote_handle : NULL;
}

static int put(struct pair *pair, size_t offset, size_t size)
{
    return pair->btl->btl_put(pair->btl, pair->endpoint, pair->out + offset,
                              pair->remote_address + offset, pair->out_handle, remote_handle(pair),
                              size, 0, MCA_BTL_NO_ORDER, completed, NULL, pair);
}

static int get(struct pair *pair, size_t offset, size_t size)
{
    return pair->btl->btl_get(pair->btl, pair->endpoint, pair->out + offset,
                              pair->remote_address + offset, pair->out_handle, remote_handle(pair),
                              size, 0, MCA_BTL_NO_ORDER, completed, NULL, pair);
}

static int fetch_and_add(struct pair *pair, size_t offset, size_t size)
{
    int flags = size == ATOMIC32_BYTES ? MCA_BTL_ATOMIC_FLAG_32BIT : 0;
    return pair->btl->btl_atomic_fop(pair->btl, pair->endpoint, pair->out + offset,
                                     pair->remote_address + offset, pair->out_handle,
                                     remote_handle(pair), MCA_BTL_ATOMIC_ADD, 1, flags,
                                     MCA_BTL_NO_ORDER, completed, NULL, pair);
}

static int wait_below(struct pair *pair, unsigned limit)
{
    int status = pair->status;
    while (pair->under_way >= limit && status == OPAL_SUCCESS) {
        status = pair_drive(pair);
    }
    return status;
}

/* One operation: size bytes, in pieces of at most limit. */
static int start(struct pair *pair, access_fn *access, size_t size, size_t limit)
{
    size_t turn = pair_turn(pair, size), offset = 0;
    bool started = false;
    while (!started) {
        size_t piece = size - offset < limit ? size - offset : limit;
        pair->under_way++;
        int status = access(pair, turn + offset, piece);
        if (status != OPAL_SUCCESS) { /* refused, or (1) complete without a callback */
            pair->under_way--;
        }
        if (status >= 0) {
            offset += piece;
            started = offset == size;
        } else if (status != OPAL_ERR_OUT_OF_RESOURCE && status != OPAL_ERR_TEMP_OUT_OF_RESOURCE) {
            return status;
        } else if ((status = pair_drive(pair)) != OPAL_SUCCESS) {
            return status;
        }
    }
    return OPAL_SUCCESS;
}

static int run(struct pair *pair, access_fn *access, size_t size, size_t limit, unsigned count,
               unsigned window)
{
    int status = OPAL_SUCCESS;
    for (unsigned i = 0; i < count && status == OPAL_SUCCESS; i++) {
        status = start(pair, access, size, limit);
        if (status == OPAL_SUCCESS) {
            status = wait_below(pair, window);
        }
    }
    return status == OPAL_SUCCESS ? wait_below(pair, 1) : status;
}

static int run_put(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, put, size, pair->btl->btl_put_limit, count, 1);
}

static int run_puts(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, put, size, pair->btl->btl_put_limit, count, pair->window);
}

static int run_get(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, get, size, pair->btl->btl_get_limit, count, 1);
}

static int run_gets(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, get, size, pair->btl->btl_get_limit, count, pair->window);
}

static int run_fetch_and_add(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, fetch_and_add, size, ATOMIC_BYTES, count, 1);
}

const struct perf_test put_lat = {
    .name = "put_lat",
    .what = "one put, until the target has it",
    .kind = TEST_LATENCY,
    .trips = 1,
    .refusal = needs_put,
    .run = run_put,
};

const struct perf_test put_bw = {
    .name = "put_bw",
    .what = "many puts under way, bytes per second",
    .kind = TEST_BANDWIDTH,
    .trips = 1,
    .refusal = needs_put,
    .run = run_puts,
};

const struct perf_test get_lat = {
    .name = "get_lat",
    .what = "one get",
    .kind = TEST_LATENCY,
    .trips = 1,
    .refusal = needs_get,
    .run = run_get,
};

const struct perf_test get_bw = {
    .name = "get_bw",
    .what = "many gets under way, bytes per second",
    .kind = TEST_BANDWIDTH,
    .trips = 1,
    .refusal = needs_get,
    .run = run_gets,
};

const struct perf_test atomic_lat = {
    .name = "atomic_lat",
    .what = "one fetch-and-add of 8 bytes",
    .kind = TEST_LATENCY,
    .trips = 1,
    .fixed_size = ATOMIC_BYTES,
    .refusal = needs_fetch_and_add,
    .run = run_fetch_and_add,
};

const struct perf_test atomic32_lat = {
    .name = "atomic32_lat",
    .what = "one fetch-and-add of 4 bytes",
    .kind = TEST_LATENCY,
    .trips = 1,
    .fixed_size = ATOMIC32_BYTES,
    .refusal = needs_32_bit,
    .run = run_fetch_and_add,
};

const struct perf_test *const all_tests[] = {
    &am_lat,  &am_rate,    &am_bw,        &put_lat,  &put_bw,   &get_lat,
    &get_bw,  &atomic_lat, &atomic32_lat, &tag_lat,  &tag_rate, &tag_bw,
    &am2_lat, &put2_lat,   &put2_bw,      &wake_lat, NULL,
};
