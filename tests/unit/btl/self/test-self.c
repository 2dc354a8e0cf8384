/* self beyond what the conformance suite asks of every module. */
#include <tests/lib/unit.h>

#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <btl/memory/region.h>
#include <btl/plane/bml.h>
#include <string.h>

static opal_proc_t procs[] = {
    {.proc_name = {.jobid = 1, .vpid = 0}, .hostname = "here"},
    {.proc_name = {.jobid = 1, .vpid = 1}, .hostname = "there"},
};

static const opal_proc_t *me(void *host)
{
    (void) host;
    return &procs[0];
}

static const struct keel_host_ops ops = {.me = me};
static mca_btl_base_module_t *self;
static struct mca_btl_base_endpoint_t *endpoint;

static void open_self(void)
{
    char reason[200] = "";
    ck_assert_int_eq(param_override("btl", "self"), ORTE_SUCCESS);
    ck_assert_int_eq(btl_open(&ops, NULL, reason, sizeof(reason)), ORTE_SUCCESS);
    size_t count;
    self = btl_modules(&count)[0];
    ck_assert_uint_eq(count, 1);
    opal_proc_t *mine = &procs[0];
    ck_assert_int_eq(self->btl_add_procs(self, 1, &mine, &endpoint, NULL), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(endpoint);
}

static void close_self(void)
{
    opal_proc_t *mine = &procs[0];
    self->btl_del_procs(self, 1, &mine, &endpoint);
    btl_close();
}

static int depth, deepest, left;

static void send_one(uint32_t flags)
{
    mca_btl_base_descriptor_t *descriptor = self->btl_alloc(
        self, endpoint, MCA_BTL_NO_ORDER, sizeof(int), flags | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    ck_assert_ptr_nonnull(descriptor);
    memcpy(descriptor->des_segments[0].seg_addr.pval, &left, sizeof(left));
    ck_assert_int_ge(self->btl_send(self, endpoint, descriptor, 5), 0);
}

static void nest(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) btl, (void) tag, (void) descriptor, (void) data;
    deepest = ++depth > deepest ? depth : deepest;
    if (left-- > 0) {
        send_one(0);
    }
    depth--;
}

START_TEST(nesting_is_bounded)
{
    open_self();
    self->btl_register(self, 5, nest, NULL);
    left = 10000;
    send_one(0);
    while (btl_progress() > 0) {
    }
    ck_assert_int_eq(left, -1);
    ck_assert_int_le(deepest, 8);
    close_self();
}
END_TEST

static int got[64], got_count;

static void fan_out(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) btl, (void) tag, (void) data;
    int number;
    memcpy(&number, descriptor->des_segments[0].seg_addr.pval, sizeof(number));
    got[got_count++] = number;
    depth++;
    while (left < 40 && depth <= 8) { /* beyond the bound some of these wait */
        left++;
        send_one(0);
    }
    depth--;
}

START_TEST(what_waits_keeps_its_order)
{
    open_self();
    self->btl_register(self, 5, fan_out, NULL);
    left = 0;
    send_one(0);
    while (btl_progress() > 0) {
    }
    ck_assert_int_eq(got_count, 41);
    for (int i = 0; i < got_count; i++) {
        ck_assert_int_eq(got[i], i);
    }
    close_self();
}
END_TEST

static int operations, nested, deepest_operation;
static unsigned char memory[100];
static mca_btl_base_registration_handle_t *handle;

static void put_again(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *to, void *local,
                      mca_btl_base_registration_handle_t *local_handle, void *context, void *data,
                      int status)
{
    ck_assert_int_eq(status, OPAL_SUCCESS);
    deepest_operation = ++nested > deepest_operation ? nested : deepest_operation;
    if (operations-- > 0) {
        ck_assert_int_eq(btl->btl_put(btl, to, local, (uint64_t) (uintptr_t) memory, local_handle,
                                      handle, 10, 0, MCA_BTL_NO_ORDER, put_again, context, data),
                         0);
    }
    nested--;
}

START_TEST(nested_puts_are_bounded_too)
{
    open_self();
    unsigned char local[10] = "local";
    handle = self->btl_register_mem(self, NULL, memory, 100, MCA_BTL_REG_FLAG_REMOTE_WRITE);
    operations = 5000;
    put_again(self, endpoint, local, NULL, NULL, NULL, OPAL_SUCCESS);
    while (btl_progress() > 0) {
    }
    ck_assert_int_eq(operations, -1);
    ck_assert_int_le(deepest_operation, 10);
    ck_assert_str_eq((char *) memory, "local");
    close_self();
}
END_TEST

/* An operation without callback: its outcome is for flush. */
static void put_blindly(uint64_t address)
{
    static unsigned char local[10];
    ck_assert_int_eq(self->btl_put(self, endpoint, local, address, NULL, handle, sizeof(local), 0,
                                   MCA_BTL_NO_ORDER, NULL, NULL, NULL),
                     OPAL_SUCCESS);
}

START_TEST(a_flush_tells_the_first_error_since_the_last)
{
    open_self();
    const struct keel_btl_ext *ext = keel_btl_ext(self);
    handle = self->btl_register_mem(self, NULL, memory, 100, MCA_BTL_REG_FLAG_REMOTE_READ);
    put_blindly((uintptr_t) memory); /* reading is allowed, and nothing else */
    ck_assert_int_eq(self->btl_deregister_mem(self, handle), OPAL_SUCCESS);
    handle = self->btl_register_mem(self, NULL, memory, 100, MCA_BTL_REG_FLAG_REMOTE_WRITE);
    mca_btl_base_registration_handle_t *true_handle = handle;
    struct region_handle forged; /* only the target sees that it is too large */
    memcpy(&forged, handle, sizeof(forged));
    forged.size = 1000;
    handle = (mca_btl_base_registration_handle_t *) (void *) &forged;
    put_blindly((uintptr_t) memory + 91);
    ck_assert_int_eq(ext->flush(self, endpoint), OPAL_ERR_PERM);
    put_blindly((uintptr_t) memory + 91);
    ck_assert_int_eq(ext->flush(self, NULL), OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    handle = true_handle;
    put_blindly((uintptr_t) memory);
    ck_assert_int_eq(ext->flush(self, endpoint), OPAL_SUCCESS);
    close_self();
}
END_TEST

static int waited_status = 1;

static void note_status(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *to,
                        struct keel_btl_pending *pending, int status)
{
    (void) btl, (void) to, (void) pending;
    waited_status = status;
}

START_TEST(who_waits_for_room_hears_of_the_end)
{
    open_self();
    struct keel_btl_pending pending = {.ready = note_status};
    ck_assert_int_eq(keel_btl_ext(self)->pending_add(self, endpoint, &pending), OPAL_SUCCESS);
    opal_proc_t *mine = &procs[0];
    ck_assert_int_eq(self->btl_del_procs(self, 1, &mine, &endpoint), OPAL_SUCCESS);
    ck_assert_int_eq(waited_status, OPAL_ERR_UNREACH);
    btl_close();
}
END_TEST

START_TEST(only_my_own_process_is_reached)
{
    open_self();
    opal_proc_t *both[] = {&procs[1], &procs[0]};
    struct mca_btl_base_endpoint_t *endpoints[2] = {(void *) 1, (void *) 1};
    opal_bitmap_t reachable;
    OBJ_CONSTRUCT(&reachable, opal_bitmap_t);
    opal_bitmap_init(&reachable, 2);
    ck_assert_int_eq(self->btl_add_procs(self, 2, both, endpoints, &reachable), OPAL_SUCCESS);
    ck_assert_ptr_null(endpoints[0]);
    ck_assert_ptr_nonnull(endpoints[1]);
    ck_assert(!opal_bitmap_is_set_bit(&reachable, 0));
    ck_assert(opal_bitmap_is_set_bit(&reachable, 1));
    OBJ_DESTRUCT(&reachable);
    self->btl_del_procs(self, 2, both, endpoints);
    close_self();
}
END_TEST

START_TEST(rails_lead_to_me_and_the_unreached_are_named)
{
    open_self();
    struct bml *bml;
    ck_assert_int_eq(bml_create(&bml), ORTE_SUCCESS);
    opal_proc_t *both[] = {&procs[0], &procs[1]};
    char reason[200] = "";
    ck_assert_int_eq(bml_add_procs(bml, both, 2, reason, sizeof(reason)), ORTE_ERR_UNREACH);
    ck_assert_ptr_nonnull(strstr(reason, "there"));
    size_t count = 7;
    const struct keel_rail *rails = bml_rails(bml, &procs[0], &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(rails[0].btl, self);
    ck_assert_ptr_nonnull(rails[0].endpoint);
    ck_assert(rails[0].eager && rails[0].send && rails[0].rdma);
    ck_assert_ptr_null(bml_rails(bml, &procs[1], &count));
    ck_assert_uint_eq(count, 0);
    /* Adding again changes nothing. */
    ck_assert_int_eq(bml_add_procs(bml, both, 1, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_ptr_eq(bml_rails(bml, &procs[0], &count), rails);
    bml_destroy(bml);
    bml_destroy(NULL);
    close_self();
}
END_TEST

UNIT_MAIN("self")
