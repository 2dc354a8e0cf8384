/* The adapter of BTL 2.0 where one process is enough: its life, whose callbacks are called, and how
 * accesses go on when the 3.0 module takes their stretches one way or the other. */
#include <tests/lib/unit.h>

#include <base/settings/param.h>
#include <btl2/adapter.h>
#include <string.h>
#include <tests/lib/minihost.h>

enum { TAG = 77 };

static mca_btl2_base_module_t **modules;
static size_t count;

static void open_all(const char *choice)
{
    char reason[256];
    ck_assert_int_eq(param_override("btl", choice), ORTE_SUCCESS);
    ck_assert_int_eq(keel_host_open(&minihost_alone, NULL, NULL, reason, sizeof(reason)),
                     OPAL_SUCCESS);
    modules = keel_btl2_modules(&count);
    ck_assert_ptr_nonnull(modules);
}

static struct mca_btl2_base_endpoint_t *endpoint_of(mca_btl2_base_module_t *btl)
{
    struct ompi_proc_t *proc = (struct ompi_proc_t *) &minihost_myself;
    struct mca_btl2_base_endpoint_t *endpoint = NULL;
    ck_assert_int_eq(btl->btl_add_procs(btl, 1, &proc, &endpoint, NULL), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(endpoint);
    return endpoint;
}

static void count_one(mca_btl2_base_module_t *btl, mca_btl2_base_tag_t tag,
                      mca_btl2_base_descriptor_t *descriptor, void *cbdata)
{
    ck_assert_ptr_eq(btl, modules[0]);
    ck_assert_uint_eq(tag, TAG);
    ck_assert_uint_eq(descriptor->des_dst[0].seg_len, 8);
    ++*(int *) cbdata;
}

START_TEST(modules_are_there_while_the_data_plane_is_open)
{
    int came = 0;
    ck_assert_ptr_null(keel_btl2_modules(&count));
    ck_assert_uint_eq(count, 0);
    for (int i = 0; i < 2; i++) {
        open_all("self,tcp");
        ck_assert_uint_eq(count, 2);
        ck_assert_str_eq(modules[0]->btl_component->btl_version.mca_component_name, "self");
        ck_assert_str_eq(modules[1]->btl_component->btl_version.mca_component_name, "tcp");
        ck_assert_ptr_null(mca_btl2_base_active_message_trigger[TAG].cbfunc);
        modules[1]->btl_register(modules[1], TAG, count_one, &came); /* of all modules */
        uint64_t word = 5;
        ck_assert_int_eq(modules[0]->btl_sendi(modules[0], endpoint_of(modules[0]), NULL, &word,
                                               sizeof(word), 0, MCA_BTL2_NO_ORDER, 0, TAG, NULL),
                         OPAL_SUCCESS);
        while (came == i) {
            keel_host_progress();
        }
        ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
        ck_assert_ptr_null(keel_btl2_modules(&count));
    }
}
END_TEST

/* What a program has not given back goes with the data plane. */
START_TEST(what_is_left_ends_with_the_data_plane)
{
    static char memory[100];
    opal_convertor_t convertor;
    size_t size = sizeof(memory);
    mca_mpool_base_registration_t *registration;
    open_all("self");
    mca_btl2_base_module_t *btl = modules[0];
    struct mca_btl2_base_endpoint_t *me = endpoint_of(btl);
    opal_convertor_prepare(&convertor, memory, sizeof(memory));
    ck_assert_ptr_nonnull(btl->btl_alloc(btl, me, MCA_BTL2_NO_ORDER, 50, 0));
    ck_assert_ptr_nonnull(
        btl->btl_prepare_dst(btl, me, NULL, &convertor, MCA_BTL2_NO_ORDER, 10, &size, 0));
    ck_assert_int_eq(
        btl->btl_mpool->mpool_register(btl->btl_mpool, memory, sizeof(memory), 0, &registration),
        OPAL_SUCCESS);
    ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
}
END_TEST

static mca_btl_base_registration_handle_t *no_room(struct mca_btl_base_module_t *btl,
                                                   struct mca_btl_base_endpoint_t *endpoint,
                                                   void *base, size_t size, uint32_t flags)
{
    (void) btl, (void) endpoint, (void) base, (void) size, (void) flags;
    return NULL;
}

/* A region table that is full: nothing is prepared, and nothing has happened. */
START_TEST(without_room_for_a_region_nothing_is_prepared)
{
    static char memory[2][100];
    const struct iovec pieces[] = {{memory[0], 90}, {memory[1], 90}};
    mca_mpool_base_registration_t *registration = (void *) memory;
    opal_convertor_t convertor;
    size_t own;
    open_all("self");
    mca_btl2_base_module_t *btl = modules[0];
    struct mca_btl2_base_endpoint_t *me = endpoint_of(btl);
    btl_modules(&own)[0]->btl_register_mem = no_room;
    ck_assert_int_eq(opal_convertor_prepare_iovec(&convertor, pieces, 2), OPAL_SUCCESS);
    for (size_t reserve = 0; reserve < 20; reserve += 10) {
        for (size_t size = 50; size <= 150; size += 100) { /* in one piece, and in two */
            size_t taken = size;
            ck_assert_ptr_null(btl->btl_prepare_src(btl, me, NULL, &convertor, MCA_BTL2_NO_ORDER,
                                                    reserve, &taken, MCA_BTL2_DES_FLAGS_GET));
            ck_assert_ptr_null(btl->btl_prepare_dst(btl, me, NULL, &convertor, MCA_BTL2_NO_ORDER,
                                                    reserve, &taken, 0));
            ck_assert_uint_eq(convertor.bytes_converted, 0);
            ck_assert_uint_eq(taken, size);
        }
    }
    ck_assert_int_eq(btl->btl_mpool->mpool_register(btl->btl_mpool, memory, 100, 0, &registration),
                     OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_ptr_null(registration);
    ck_assert_uint_eq(btl2_of(btl)->descs.in_use + btl2_of(btl)->regions.in_use, 0);
    ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
}
END_TEST

/* A descriptor and a registration are their module's. */
START_TEST(what_another_module_made_is_refused)
{
    static char memory[100];
    opal_convertor_t convertor;
    size_t size = sizeof(memory);
    mca_mpool_base_registration_t *registration;
    open_all("self,tcp");
    mca_btl2_base_module_t *btl = modules[0], *other = modules[1];
    struct mca_btl2_base_endpoint_t *me = endpoint_of(btl);
    opal_convertor_prepare(&convertor, memory, sizeof(memory));
    ck_assert_int_eq(
        other->btl_mpool->mpool_register(other->btl_mpool, memory, 100, 0, &registration),
        OPAL_SUCCESS);
    ck_assert_ptr_null(btl->btl_prepare_src(btl, me, registration, &convertor, MCA_BTL2_NO_ORDER, 0,
                                            &size, MCA_BTL2_DES_FLAGS_PUT));
    ck_assert_int_eq(btl->btl_mpool->mpool_deregister(btl->btl_mpool, registration),
                     OPAL_ERR_BAD_PARAM);
    mca_btl2_base_descriptor_t *made =
        btl->btl_prepare_src(btl, me, NULL, &convertor, MCA_BTL2_NO_ORDER, 0, &size, 0);
    ck_assert_ptr_nonnull(made);
    made->des_dst = made->des_src;
    made->des_dst_cnt = 1;
    ck_assert_int_eq(other->btl_send(other, me, made, TAG), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(other->btl_put(other, me, made), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(other->btl_get(other, me, made), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(other->btl_free(other, made), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(btl->btl_free(btl, made), OPAL_SUCCESS);
    ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
}
END_TEST

/* ---- a 3.0 module that takes stretches as the test says ---- */

enum { BYTES = 100, LIMIT = 10, STRETCHES = BYTES / LIMIT };

static struct {
    int answers[STRETCHES + 4]; /* of the calls, in their order */
    bool inside;                /* calls back before it returns */
    int calls, taken;
    mca_btl_base_rdma_completion_fn_t done[STRETCHES];
    void *context[STRETCHES];
} fake;

static int fake_put(struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local, uint64_t remote, struct mca_btl_base_registration_handle_t *mine,
                    struct mca_btl_base_registration_handle_t *theirs, size_t size, int flags,
                    int order, mca_btl_base_rdma_completion_fn_t done, void *context, void *data)
{
    (void) flags, (void) order;
    int answer = fake.answers[fake.calls++];
    ck_assert_ptr_nonnull(theirs);
    ck_assert_uint_eq(size, LIMIT);
    if (answer == 1) {
        memcpy((void *) (uintptr_t) remote, local, size);
        fake.taken++;
    } else if (answer == 0) {
        memcpy((void *) (uintptr_t) remote, local, size);
        fake.done[fake.taken] = done;
        fake.context[fake.taken++] = context;
        if (fake.inside) {
            done(btl, endpoint, local, mine, context, data, OPAL_SUCCESS);
        }
    }
    return answer;
}

static struct {
    mca_btl2_base_module_t *btl;
    struct mca_btl2_base_endpoint_t *me;
    mca_btl2_base_descriptor_t *descriptor;
    mca_btl2_base_segment_t to;
    char from[BYTES], into[BYTES];
    int ended, status;
} put;

static void put_ended(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                      mca_btl2_base_descriptor_t *descriptor, int status)
{
    ck_assert_ptr_eq(btl, put.btl);
    ck_assert_ptr_eq(endpoint, put.me);
    ck_assert_ptr_eq(descriptor, put.descriptor);
    put.ended++;
    put.status = status;
}

static int start_put(void)
{
    opal_convertor_t convertor;
    size_t size = BYTES, own;
    open_all("self");
    put.btl = modules[0];
    put.me = endpoint_of(put.btl);
    mca_btl_base_module_t *inner = btl_modules(&own)[0];
    inner->btl_put = fake_put;
    inner->btl_put_limit = LIMIT;
    memset(put.from, 'x', BYTES);
    opal_convertor_prepare(&convertor, put.from, BYTES);
    put.descriptor = put.btl->btl_prepare_src(put.btl, put.me, NULL, &convertor, MCA_BTL2_NO_ORDER,
                                              0, &size, MCA_BTL2_DES_FLAGS_PUT);
    ck_assert_ptr_nonnull(put.descriptor);
    put.to.seg_addr.pval = put.into;
    put.to.seg_len = BYTES;
    put.descriptor->des_dst = &put.to;
    put.descriptor->des_dst_cnt = 1;
    put.descriptor->des_cbfunc = put_ended;
    return put.btl->btl_put(put.btl, put.me, put.descriptor);
}

static void finish_stretches(int status)
{
    for (int i = 0; i < fake.taken; i++) {
        ck_assert_int_eq(put.ended, 0);
        fake.done[i](NULL, (void *) put.me, NULL, NULL, fake.context[i], NULL,
                     i == 3 ? status : OPAL_SUCCESS);
    }
}

static void poll_some(void)
{
    for (int i = 0; i < 100000 && put.ended == 0; i++) {
        keel_host_progress();
    }
}

static void end_put(int status, int stretches)
{
    ck_assert_int_eq(put.ended, 1);
    ck_assert_int_eq(put.status, status);
    ck_assert_int_eq(fake.taken, stretches);
    ck_assert(memchr(put.into, 0, BYTES) ==
              (stretches < STRETCHES ? &put.into[stretches * LIMIT] : NULL));
    ck_assert_int_eq(put.btl->btl_free(put.btl, put.descriptor), OPAL_SUCCESS);
    ck_assert_int_eq(keel_host_close(), OPAL_SUCCESS);
}

START_TEST(a_put_ends_with_its_last_stretch)
{
    ck_assert_int_eq(start_put(), OPAL_SUCCESS);
    ck_assert_int_eq(fake.taken, STRETCHES);
    finish_stretches(OPAL_SUCCESS);
    end_put(OPAL_SUCCESS, STRETCHES);
}
END_TEST

START_TEST(the_first_error_is_the_status)
{
    ck_assert_int_eq(start_put(), OPAL_SUCCESS);
    finish_stretches(OPAL_ERR_PERM);
    end_put(OPAL_ERR_PERM, STRETCHES);
}
END_TEST

START_TEST(callbacks_inside_the_call_end_it_once)
{
    fake.inside = true;
    ck_assert_int_eq(start_put(), OPAL_SUCCESS);
    end_put(OPAL_SUCCESS, STRETCHES);
}
END_TEST

START_TEST(stretches_that_are_over_at_once_need_no_callback)
{
    for (int i = 0; i < STRETCHES; i++) {
        fake.answers[i] = 1;
    }
    ck_assert_int_eq(start_put(), OPAL_SUCCESS);
    end_put(OPAL_SUCCESS, STRETCHES);
}
END_TEST

START_TEST(a_put_that_is_refused_at_once_is_not_started)
{
    fake.answers[0] = OPAL_ERR_UNREACH;
    ck_assert_int_eq(start_put(), OPAL_ERR_UNREACH);
    fake.answers[1] = OPAL_ERR_OUT_OF_RESOURCE;
    ck_assert_int_eq(put.btl->btl_put(put.btl, put.me, put.descriptor), OPAL_ERR_OUT_OF_RESOURCE);
    poll_some();
    ck_assert_int_eq(fake.calls, 2);
    ck_assert_int_eq(put.ended, 0);
    put.ended = 1;
    end_put(0, 0);
}
END_TEST

/* It went on when its callers had it as accepted: once more short, then taken. */
START_TEST(a_shortage_in_the_middle_is_waited_for)
{
    fake.answers[4] = fake.answers[5] = OPAL_ERR_OUT_OF_RESOURCE;
    fake.inside = true;
    ck_assert_int_eq(start_put(), OPAL_SUCCESS);
    ck_assert_int_eq(fake.taken, 4);
    ck_assert_int_eq(put.ended, 0);
    poll_some();
    end_put(OPAL_SUCCESS, STRETCHES);
}
END_TEST

START_TEST(an_error_in_the_middle_waits_for_what_was_started)
{
    fake.answers[4] = OPAL_ERR_UNREACH;
    ck_assert_int_eq(start_put(), OPAL_SUCCESS);
    ck_assert_int_eq(put.ended, 0);
    finish_stretches(OPAL_SUCCESS);
    end_put(OPAL_ERR_UNREACH, 4);
}
END_TEST

UNIT_MAIN("btl2")
