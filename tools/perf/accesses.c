/* Tests of put, get and atomics: from the call to the callback, when the target has it. */
#include <config.h>

#include <tools/perf/test.h>

enum { ATOMIC_BYTES = 8, ATOMIC32_BYTES = 4 };

const char *needs_put(const struct pair *pair)
{
    return pair->btl->btl_flags & MCA_BTL_FLAGS_PUT ? NULL : "it has no put";
}

const char *needs_get(const struct pair *pair)
{
    return pair->btl->btl_flags & MCA_BTL_FLAGS_GET ? NULL : "it has no get";
}

const char *needs_fetch_and_add(const struct pair *pair)
{
    return pair->btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_FOPS &&
                   pair->btl->btl_atomic_flags & MCA_BTL_ATOMIC_SUPPORTS_ADD
               ? NULL
               : "it has no fetch-and-add";
}

const char *needs_32_bit(const struct pair *pair)
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

int run_put(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, put, size, pair->btl->btl_put_limit, count, 1);
}

int run_puts(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, put, size, pair->btl->btl_put_limit, count, pair->window);
}

int run_get(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, get, size, pair->btl->btl_get_limit, count, 1);
}

int run_gets(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, get, size, pair->btl->btl_get_limit, count, pair->window);
}

int run_fetch_and_add(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, fetch_and_add, size, ATOMIC_BYTES, count, 1);
}
