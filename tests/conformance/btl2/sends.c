/* Active messages: every size, descriptors of the module's and of the caller's, who frees them,
 * tags, errors, checkpoints. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl2/suite.h>

enum { TAG = MCA_BTL2_TAG_USR + 1, OTHER_TAG, OLD_TAG, NOBODYS_TAG };

/* ---- receiving ---- */

/* Each message begins with its seed, so far as it has the bytes; then the pattern. */
struct inbox {
    struct test *test;
    unsigned count;
    size_t size;  /* of the last message */
    size_t first; /* bytes of its first segment */
    unsigned char *bytes;
};

static void take(mca_btl2_base_module_t *btl, mca_btl2_base_tag_t tag,
                 mca_btl2_base_descriptor_t *descriptor, void *cbdata)
{
    struct inbox *inbox = cbdata;
    struct test *test = inbox->test;
    must(test, btl == test->btl && tag == TAG);
    must(test, descriptor->des_src_cnt == 0 && descriptor->des_dst_cnt >= 1);
    must(test, descriptor->des_context == test->endpoints[test->left]);
    inbox->size = 0;
    inbox->first = descriptor->des_dst[0].seg_len;
    for (size_t i = 0; i < descriptor->des_dst_cnt; i++) {
        const mca_btl2_base_segment_t *segment = &descriptor->des_dst[i];
        must(test, inbox->size + segment->seg_len <= test->btl->btl_max_send_size);
        if (segment->seg_len > 0) {
            memcpy(inbox->bytes + inbox->size, segment->seg_addr.pval, segment->seg_len);
        }
        inbox->size += segment->seg_len;
    }
    inbox->count++;
}

static struct inbox inbox;

static void inbox_open(struct test *test)
{
    inbox = (struct inbox){.test = test, .bytes = malloc(test->btl->btl_max_send_size + 1)};
    must(test, inbox.bytes);
    must(test, test->btl->btl_register(test->btl, TAG, take, &inbox) == OPAL_SUCCESS);
    must(test, mca_btl2_base_active_message_trigger[TAG].cbfunc == take);
    meet(test);
}

static void inbox_close(struct test *test)
{
    meet(test);
    must(test, test->btl->btl_register(test->btl, TAG, NULL, NULL) == OPAL_SUCCESS);
    must(test, !mca_btl2_base_active_message_trigger[TAG].cbfunc);
    free(inbox.bytes);
}

/* The next message is this one. */
static void comes(struct test *test, size_t size, unsigned seed)
{
    pump_until(test, &inbox.count, 1);
    must(test, inbox.size == size && pattern_is(inbox.bytes, size, seed));
    inbox.count = 0;
}

/* ---- sending ---- */

static mca_btl2_base_descriptor_t *filled(struct test *test, size_t size, unsigned seed,
                                          uint32_t flags, unsigned *count)
{
    mca_btl2_base_descriptor_t *made = alloc_wait(test, size, flags);
    pattern_fill(made->des_src[0].seg_addr.pval, size, seed);
    made->des_cbfunc = count ? count_success : NULL;
    made->des_cbdata = count;
    return made;
}

static void table(struct test *test)
{
    const mca_btl2_base_module_t *btl = test->btl;
    const mca_base_component_t *version = &btl->btl_component->btl_version;
    must(test, version->mca_type_major_version == 2 && strcmp(version->mca_type_name, "btl") == 0);
    must(test, strcmp(version->mca_component_name,
                      test->inner->btl_component->btl_version.mca_component_name) == 0);
    must(test, btl->btl_max_send_size == test->inner->btl_max_send_size);
    must(test, btl->btl_eager_limit <= btl->btl_max_send_size);
    must(test, (btl->btl_flags & MCA_BTL2_FLAGS_SEND) && btl->btl_flags < 0x1000);
    must(test, btl->btl_add_procs && btl->btl_del_procs && btl->btl_register && btl->btl_finalize);
    must(test, btl->btl_alloc && btl->btl_free && btl->btl_prepare_src && btl->btl_prepare_dst);
    must(test, btl->btl_send && btl->btl_sendi && btl->btl_put && btl->btl_get && btl->btl_dump);
    must(test, btl->btl_mpool && btl->btl_register_error && btl->btl_ft_event);
    test->btl->btl_dump(test->btl, NULL, 1);
    test->btl->btl_dump(test->btl, test->endpoints[test->right], 0);
    btl->btl_component->btl_progress();
    must(test, test->btl->btl_free(test->btl, NULL) == OPAL_SUCCESS);
    must(test, !test->btl->btl_alloc(test->btl, test->endpoints[test->right], MCA_BTL2_NO_ORDER,
                                     btl->btl_max_send_size + 1, 0));
}

/* The peer has the same endpoint however often it is added, by 2.0 or 3.0. */
static void endpoints(struct test *test)
{
    opal_proc_t *proc = &test->host->procs[test->right];
    struct ompi_proc_t *older = (struct ompi_proc_t *) proc;
    struct mca_btl2_base_endpoint_t *again = NULL;
    struct mca_btl_base_endpoint_t *newer = NULL;
    must(test, test->btl->btl_add_procs(test->btl, 1, &older, &again, NULL) == OPAL_SUCCESS);
    must(test, test->inner->btl_add_procs(test->inner, 1, &proc, &newer, NULL) == OPAL_SUCCESS);
    must(test, again == test->endpoints[test->right] && (void *) newer == (void *) again);
    must(test, test->btl->btl_del_procs(test->btl, 1, &older, &again) == OPAL_SUCCESS);
    must(test, test->inner->btl_del_procs(test->inner, 1, &proc, &newer) == OPAL_SUCCESS);
    unsigned sent = 0;
    inbox_open(test);
    send_wait(test, filled(test, 9, 1, MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP, &sent), TAG);
    comes(test, 9, 1);
    inbox_close(test);
}

static void sizes(struct test *test)
{
    const size_t eager = test->btl->btl_eager_limit, most = test->btl->btl_max_send_size;
    const size_t all[] = {
        0,        1,   2,   7,    8,    55,   56,        57,    63,
        64,       65,  255, 4095, 4096, 4097, eager - 1, eager, eager + 1 < most ? eager + 1 : most,
        most - 1, most};
    inbox_open(test);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        for (uint32_t flags = 0; flags < 8; flags++) {
            unsigned sent = 0;
            bool owned = flags & MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP;
            mca_btl2_base_descriptor_t *made =
                filled(test, all[i], (unsigned) i * 8 + flags, flags, &sent);
            send_wait(test, made, TAG);
            comes(test, all[i], (unsigned) i * 8 + flags);
            pump_until(test, &sent, 1);
            if (!owned) {
                must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
            }
            meet(test);
        }
    }
    inbox_close(test);
}

/* Some shorten what they send, or send memory of their own. */
static void segments_of_the_caller(struct test *test)
{
    static unsigned char bytes[MCA_BTL2_DES_MAX_SEGMENTS * 16];
    mca_btl2_base_segment_t mine[MCA_BTL2_DES_MAX_SEGMENTS + 1] = {{.seg_len = 0}};
    unsigned sent = 0;
    pattern_fill(bytes, sizeof(bytes), 4);
    for (size_t i = 0; i < MCA_BTL2_DES_MAX_SEGMENTS; i++) {
        mine[i].seg_addr.pval = bytes + i * 16;
        mine[i].seg_len = 16;
    }
    inbox_open(test);
    mca_btl2_base_descriptor_t *made = filled(test, 1000, 3, 0, &sent);
    made->des_src[0].seg_len = 600;
    send_wait(test, made, TAG);
    comes(test, 600, 3);
    pump_until(test, &sent, 1);
    made->des_src = mine;
    made->des_src_cnt = MCA_BTL2_DES_MAX_SEGMENTS + 1;
    must(test, test->btl->btl_send(test->btl, test->endpoints[test->right], made, TAG) ==
                   OPAL_ERR_BAD_PARAM);
    made->des_src_cnt--;
    meet(test);
    send_wait(test, made, TAG);
    comes(test, sizeof(bytes), 4);
    pump_until(test, &sent, 2);
    must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
    inbox_close(test);
}

static void free_in_callback(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                             mca_btl2_base_descriptor_t *descriptor, int status)
{
    count_success(btl, endpoint, descriptor, status);
    must(inbox.test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);
}

/* Whoever frees it, a descriptor ends once. Many, so that one that is lost or freed twice shows. */
static void ownership(struct test *test)
{
    enum { MANY = 3000 };
    unsigned sent = 0;
    inbox_open(test);
    for (unsigned i = 0; i < MANY; i++) {
        bool owned = i % 3 == 0, silent = i % 3 == 1;
        mca_btl2_base_descriptor_t *made =
            filled(test, 40, 5, owned || silent ? MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP : 0, &sent);
        made->des_cbfunc = owned ? count_success : silent ? NULL : free_in_callback;
        send_wait(test, made, TAG);
    }
    pump_until(test, &inbox.count, MANY);
    pump_until(test, &sent, MANY / 3 * 2);
    inbox_close(test);
}

/* Each of the sends has a completion of its own; the descriptor ends with the last. */
static void one_at_once(struct test *test)
{
    enum { TIMES = 60 };
    unsigned sent = 0;
    inbox_open(test);
    for (int owned = 0; owned < 2; owned++) {
        mca_btl2_base_descriptor_t *made = filled(test, 500, 6, 0, &sent);
        for (int i = 0; i < TIMES; i++) {
            if (owned && i == TIMES - 1) {
                made->des_flags |= MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP;
            }
            send_wait(test, made, TAG);
        }
        pump_until(test, &sent, TIMES * (unsigned) (owned + 1));
        pump_until(test, &inbox.count, TIMES * (unsigned) (owned + 1));
        must(test, inbox.size == 500 && pattern_is(inbox.bytes, 500, 6));
        if (!owned) {
            must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
        }
        meet(test);
    }
    inbox_close(test);
}

/* Sends what a convertor has, in as many messages as it takes, each with reserve bytes of header.
 */
static void send_prepared(struct test *test, opal_convertor_t *convertor, size_t reserve,
                          size_t step, uint32_t flags)
{
    size_t whole = opal_convertor_get_packed_size(convertor), done = 0;
    static unsigned char all[1 << 20], got[1 << 20];
    size_t zero = 0;
    must(test, whole <= sizeof(all));
    opal_convertor_pack_bytes(convertor, all, whole);
    opal_convertor_set_position(convertor, &zero);
    do {
        size_t size = step;
        unsigned sent = 0;
        mca_btl2_base_descriptor_t *made =
            prepare_wait(test, true, convertor, reserve, &size, flags);
        must(test, size <= step && (size > 0 || whole == 0));
        must(test, reserve == 0 || made->des_src[0].seg_len >= reserve);
        pattern_fill(made->des_src[0].seg_addr.pval, reserve, 8);
        made->des_cbfunc = count_success;
        made->des_cbdata = &sent;
        send_wait(test, made, TAG);
        pump_until(test, &inbox.count, 1);
        pump_until(test, &sent, 1);
        must(test, inbox.size == reserve + size && pattern_is(inbox.bytes, reserve, 8));
        must(test, inbox.first >= reserve || reserve == 0);
        memcpy(got + done, inbox.bytes + reserve, size);
        done += size;
        inbox.count = 0;
        must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
        meet(test);
    } while (done < whole);
    must(test, done == whole && memcmp(all, got, whole) == 0);
}

static void prepared(struct test *test)
{
    static unsigned char data[100000];
    static const size_t reserves[] = {0, 1, 48};
    struct iovec pieces[7];
    opal_convertor_t convertor;
    pattern_fill(data, sizeof(data), 7);
    for (size_t i = 0; i < 7; i++) {
        pieces[i] = (struct iovec){data + i * 9001, i == 3 ? 0 : 1000 + i * 977};
    }
    inbox_open(test);
    for (size_t r = 0; r < 3; r++) {
        static const size_t wholes[] = {0, 1, 5000, 65536, sizeof(data)};
        size_t most = test->btl->btl_max_send_size - reserves[r];
        for (size_t w = 0; w < 5; w++) {
            opal_convertor_prepare(&convertor, data, wholes[w]);
            send_prepared(test, &convertor, reserves[r], most, 0);
        }
        must(test, opal_convertor_prepare_iovec(&convertor, pieces, 7) == OPAL_SUCCESS);
        send_prepared(test, &convertor, reserves[r], most, 0);
        must(test, opal_convertor_prepare_iovec(&convertor, pieces, 7) == OPAL_SUCCESS);
        send_prepared(test, &convertor, reserves[r], 3001, MCA_BTL2_DES_FLAGS_GET);
    }
    size_t size = 1;
    must(test, !test->btl->btl_prepare_src(test->btl, test->endpoints[test->right], NULL,
                                           &convertor, MCA_BTL2_NO_ORDER,
                                           test->btl->btl_max_send_size + 1, &size, 0));
    inbox_close(test);
}

/* ---- sendi ---- */

static int sendi(struct test *test, size_t header, size_t payload,
                 mca_btl2_base_descriptor_t **left)
{
    static unsigned char bytes[1 << 16];
    opal_convertor_t convertor;
    pattern_fill(bytes, header + payload, 9);
    opal_convertor_prepare(&convertor, bytes + header, payload);
    int status = test->btl->btl_sendi(test->btl, test->endpoints[test->right], &convertor, bytes,
                                      header, payload, MCA_BTL2_NO_ORDER,
                                      MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP, TAG, left);
    must(test, convertor.bytes_converted == (status == OPAL_SUCCESS ? payload : 0));
    return status;
}

static void immediate(struct test *test)
{
    static const size_t parts[] = {0, 1, 8, 40, 1000};
    inbox_open(test);
    for (size_t i = 0; i < 25; i++) {
        size_t header = parts[i / 5], payload = parts[i % 5];
        mca_btl2_base_descriptor_t *left = (void *) &left;
        int status;
        while ((status = sendi(test, header, payload, i % 2 ? &left : NULL)) != OPAL_SUCCESS) {
            must(test, status == OPAL_ERR_OUT_OF_RESOURCE || status == OPAL_ERR_RESOURCE_BUSY);
            if (i % 2 && left) {
                must(test, test->btl->btl_free(test->btl, left) == OPAL_SUCCESS);
            }
            pump(test);
        }
        must(test, i % 2 == 0 || left == NULL);
        comes(test, header + payload, 9);
        must(test, inbox.first >= header);
        meet(test);
    }
    inbox_close(test);
}

/* A peer that does not poll: at last nothing is taken, and the call leaves a descriptor, which is
 * filled and sent later. */
static void shortage_leaves_a_descriptor(struct test *test)
{
    enum { MOST = 200000, HEADER = 100, PAYLOAD = 900 };
    mca_btl2_base_descriptor_t *left = NULL;
    unsigned accepted = 0, sent = 0;
    inbox_open(test);
    stop(test);
    int status;
    while ((status = sendi(test, HEADER, PAYLOAD, &left)) == OPAL_SUCCESS && accepted < MOST) {
        accepted++;
    }
    must(test, accepted < MOST && status != OPAL_SUCCESS);
    atomic_store(&board_of(test, test->rank)->count, accepted + (left != NULL));
    stop(test);
    if (left) {
        must(test, left->des_src_cnt == 1 && left->des_src[0].seg_len == HEADER + PAYLOAD);
        must(test, left->des_flags == MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP);
        pattern_fill(left->des_src[0].seg_addr.pval, HEADER + PAYLOAD, 9);
        left->des_cbfunc = count_success;
        left->des_cbdata = &sent;
        send_wait(test, left, TAG);
        pump_until(test, &sent, 1);
    }
    pump_until(test, &inbox.count, (unsigned) atomic_load(&board_of(test, test->left)->count));
    must(test, inbox.size == HEADER + PAYLOAD);
    inbox_close(test);
}

/* ---- tags ---- */

static void count_old(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) descriptor;
    must(inbox.test, btl == inbox.test->inner && tag == OLD_TAG);
    ++*(unsigned *) cbdata;
}

static void count_other(mca_btl2_base_module_t *btl, mca_btl2_base_tag_t tag,
                        mca_btl2_base_descriptor_t *descriptor, void *cbdata)
{
    (void) descriptor;
    must(inbox.test, btl == inbox.test->btl && tag == OTHER_TAG);
    ++*(unsigned *) cbdata;
}

/* Users of 3.0 have the tags that no user of 2.0 has; what nobody has is dropped. */
static void tags(struct test *test)
{
    unsigned old = 0, other = 0;
    const uint8_t all[] = {TAG, OTHER_TAG, OLD_TAG, NOBODYS_TAG};
    mca_btl2_base_module_t *btl = test->btl;
    inbox_open(test);
    must(test, test->inner->btl_register(test->inner, OLD_TAG, count_old, &old) == OPAL_SUCCESS);
    must(test, btl->btl_register(btl, OTHER_TAG, count_other, &other) == OPAL_SUCCESS);
    must(test, btl->btl_register(btl, 0, take, &inbox) == OPAL_SUCCESS);
    must(test, btl->btl_register(btl, 255, take, &inbox) == OPAL_SUCCESS);
    must(test, btl->btl_register(btl, 0, NULL, NULL) == OPAL_SUCCESS);
    must(test, btl->btl_register(btl, 255, NULL, NULL) == OPAL_SUCCESS);
    must(test, btl->btl_register(btl, OLD_TAG, NULL, NULL) == OPAL_SUCCESS); /* is not its own */
    meet(test);
    for (size_t i = 0; i < 4; i++) {
        send_wait(test, filled(test, 20, 1, MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP, NULL), all[i]);
    }
    pump_until(test, &inbox.count, 1);
    pump_until(test, &old, 1);
    pump_until(test, &other, 1);
    meet(test);
    must(test, btl->btl_register(btl, OTHER_TAG, NULL, NULL) == OPAL_SUCCESS);
    must(test, test->inner->btl_register(test->inner, OLD_TAG, NULL, NULL) == OPAL_SUCCESS);
    inbox_close(test);
}

/* ---- errors, checkpoints ---- */

static struct {
    struct test *test;
    unsigned reports, ended, failed;
} end;

static void reported(mca_btl2_base_module_t *btl, int32_t flags, struct ompi_proc_t *proc,
                     char *text)
{
    struct test *test = end.test;
    must(test, btl == test->btl && flags == MCA_BTL2_ERROR_FLAGS_NONFATAL && text && *text);
    must(test, &proc->super == &test->host->procs[test->right]);
    end.reports++;
}

static void ended(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                  mca_btl2_base_descriptor_t *descriptor, int status)
{
    (void) endpoint;
    must(end.test, btl == end.test->btl && status <= 0 && descriptor->des_cbdata == &end);
    end.ended++;
    end.failed += status < 0;
}

/* What is under way to a peer that is lost ends, once each, well or with an error; then a report.
 */
static void loss(struct test *test)
{
    mca_btl2_base_module_t *btl = test->btl;
    unsigned accepted = 0;
    end.test = test;
    inbox_open(test);
    must(test, btl->btl_register_error(btl, reported) == OPAL_SUCCESS);
    send_wait(test, filled(test, 8, 1, MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP, NULL), TAG);
    comes(test, 8, 1);
    meet(test);
    stop(test);
    for (int status = 0; accepted < 1000 && status == OPAL_SUCCESS;) {
        mca_btl2_base_descriptor_t *made =
            btl->btl_alloc(btl, test->endpoints[test->right], MCA_BTL2_NO_ORDER, 1000,
                           MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP);
        status = OPAL_ERR_OUT_OF_RESOURCE;
        if (made) {
            made->des_cbfunc = ended;
            made->des_cbdata = &end;
            status = btl->btl_send(btl, test->endpoints[test->right], made, TAG);
        }
        if (made && status != OPAL_SUCCESS) {
            must(test, btl->btl_free(btl, made) == OPAL_SUCCESS);
        }
        accepted += status == OPAL_SUCCESS;
    }
    must(test, accepted > 0);
    (void) btl_fail(test->inner, btl2_inner(test->endpoints[test->right]), "a test says so");
    pump_until(test, &end.reports, 1);
    pump_until(test, &end.ended, accepted);
    mca_btl2_base_descriptor_t *made = filled(test, 8, 1, 0, NULL);
    must(test, btl->btl_send(btl, test->endpoints[test->right], made, TAG) < 0);
    must(test, btl->btl_free(btl, made) == OPAL_SUCCESS);
    stop(test);
    must(test, btl->btl_register(btl, TAG, NULL, NULL) == OPAL_SUCCESS);
    free(inbox.bytes);
}

/* What is queued when Keel closes ends with a callback. */
static void close_amid_sends(struct test *test)
{
    unsigned accepted = 0;
    end.test = test;
    inbox_open(test);
    stop(test);
    while (accepted < 20) {
        mca_btl2_base_descriptor_t *made =
            filled(test, 1000, 1, MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP, NULL);
        made->des_cbfunc = ended;
        made->des_cbdata = &end;
        send_wait(test, made, TAG);
        accepted++;
    }
    struct ompi_proc_t *proc = (struct ompi_proc_t *) &test->host->procs[test->right];
    must(test, test->btl->btl_del_procs(test->btl, 1, &proc, &test->endpoints[test->right]) ==
                   OPAL_SUCCESS);
    test->endpoints[test->right] = NULL;
    must(test, end.ended == accepted);
    inbox_close(test);
}

static void checkpoint(struct test *test)
{
    unsigned sent = 0;
    inbox_open(test);
    send_wait(test, filled(test, 100, 2, MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP, &sent), TAG);
    must(test, test->btl->btl_ft_event(OPAL_CRS_CHECKPOINT) == OPAL_SUCCESS);
    must(test, sent == 1);
    mca_btl2_base_descriptor_t *held =
        test->btl->btl_alloc(test->btl, test->endpoints[test->right], MCA_BTL2_NO_ORDER, 8, 0);
    must(test, !held ||
                   test->btl->btl_send(test->btl, test->endpoints[test->right], held, TAG) ==
                       OPAL_ERR_RESOURCE_BUSY ||
                   test->btl->btl_send(test->btl, test->endpoints[test->right], held, TAG) ==
                       OPAL_ERR_OUT_OF_RESOURCE);
    must(test, test->btl->btl_free(test->btl, held) == OPAL_SUCCESS);
    comes(test, 100, 2);
    meet(test);
    must(test, test->btl->btl_ft_event(OPAL_CRS_CONTINUE) == OPAL_SUCCESS);
    meet(test);
    send_wait(test, filled(test, 101, 3, MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP, &sent), TAG);
    comes(test, 101, 3);
    pump_until(test, &sent, 2);
    inbox_close(test);
}

const struct test_case send_cases[] = {
    {"table", table, false, false},
    {"endpoints", endpoints, false, false},
    {"sizes", sizes, false, false},
    {"segments of the caller", segments_of_the_caller, false, false},
    {"ownership", ownership, false, false},
    {"one descriptor at once", one_at_once, false, false},
    {"prepared", prepared, false, false},
    {"sendi", immediate, false, false},
    {"sendi, shortage", shortage_leaves_a_descriptor, true, false},
    {"tags", tags, false, false},
    {"loss", loss, true, false},
    {"del_procs amid sends", close_amid_sends, true, false},
    {"checkpoint", checkpoint, false, false},
    {NULL, NULL, false, false},
};
