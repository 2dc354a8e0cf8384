/* Checkpoints and restarts of modules: two of one component, and one of another, that say what the
 * test wants. */
#include <tests/lib/unit.h>

#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <btl/memory/region.h>
#include <stdlib.h>
#include <string.h>

enum { TOOK = 1, TWINS = 2, MODULES };

static bool quiet = true;
static int events, asked, restarts, result[MODULES];
static void (*while_drained)(void), (*in_progress)(void);

static struct btl_component twins, other;
static mca_btl_base_module_t modules[MODULES];

/* --- functions that take whatever comes --- */

static int send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    (void) btl, (void) endpoint, (void) descriptor, (void) tag;
    return TOOK;
}

static int sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
                 uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t **descriptor)
{
    (void) btl, (void) endpoint, (void) convertor, (void) header, (void) header_size;
    (void) payload_size, (void) order, (void) flags, (void) tag, (void) descriptor;
    return TOOK;
}

static int rdma(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                const struct rdma_call *call, bool put)
{
    (void) btl, (void) endpoint, (void) call, (void) put;
    return TOOK;
}

static int atomic(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                  const struct atomic_call *call)
{
    (void) btl, (void) endpoint, (void) call;
    return TOOK;
}

/* --- the modules --- */

static int finalize(mca_btl_base_module_t *module)
{
    (void) module;
    return OPAL_SUCCESS;
}

static mca_btl_base_module_t **give(struct btl_component *component, int first, int *count)
{
    mca_btl_base_module_t **made = malloc((size_t) *count * sizeof(*made));
    for (int i = 0; i < *count; i++) {
        modules[first + i] = (mca_btl_base_module_t){
            .btl_component = &component->component,
            .btl_finalize = finalize,
            .btl_send = send,
            .btl_sendi = sendi,
            .btl_put = btl_put,
            .btl_get = btl_get,
            .btl_atomic_op = btl_atomic_op,
            .btl_atomic_fop = btl_atomic_fop,
            .btl_atomic_cswap = btl_atomic_cswap,
        };
        made[i] = &modules[first + i];
    }
    return made;
}

static mca_btl_base_module_t **twins_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    *count = TWINS;
    return give(&twins, 0, count);
}

static mca_btl_base_module_t **other_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    *count = 1;
    return give(&other, TWINS, count);
}

static int progress(mca_btl_base_module_t *module)
{
    (void) module;
    if (in_progress) {
        in_progress();
    }
    return events;
}

static void expect_all(mca_btl_base_module_t *btl, int status);

static int restart(mca_btl_base_module_t *module)
{
    restarts++;
    for (int i = 0; i < TWINS; i++) { /* but those that are whole again */
        expect_all(&modules[i], &modules[i] < module ? TOOK : OPAL_ERR_OUT_OF_RESOURCE);
    }
    return result[module - modules];
}

static bool is_quiet(mca_btl_base_module_t *module)
{
    (void) module;
    asked++;
    if (while_drained) {
        while_drained();
    }
    return quiet;
}

static const struct btl_ext_ops ext_ops = {.is_quiet = is_quiet};
static struct btl_component twins = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("twins")}, .btl_init = twins_init},
    .progress = progress,
    .restart = restart,
    .rdma = rdma,
    .atomic = atomic,
    .ext = &ext_ops,
};
static struct btl_component other = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("other")}, .btl_init = other_init},
    .progress = progress,
    .rdma = rdma,
    .atomic = atomic,
    .ext = &ext_ops,
};
const struct btl_component *const btl_components[] = {&twins, &other, NULL};

static const struct keel_host_ops ops;
static struct region_handle everywhere = {.size = UINT64_MAX};

static void open_all(void)
{
    char reason[100];
    ck_assert_int_eq(btl_open(&ops, NULL, reason, sizeof(reason)), ORTE_SUCCESS);
}

/* All that a module can be asked to take returns this. */
static void expect_all(mca_btl_base_module_t *btl, int status)
{
    mca_btl_base_descriptor_t *left = (void *) 0x1;
    ck_assert_int_eq(btl->btl_send(btl, NULL, NULL, 0), status);
    ck_assert_int_eq(btl->btl_sendi(btl, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL), status);
    ck_assert_int_eq(btl->btl_sendi(btl, NULL, NULL, NULL, 0, 0, 0, 0, 0, &left), status);
    ck_assert(status == TOOK || left == NULL);
    mca_btl_base_registration_handle_t *handle = (void *) &everywhere;
    ck_assert_int_eq(btl->btl_put(btl, NULL, NULL, 0, NULL, handle, 0, 0, 0, NULL, NULL, NULL),
                     status);
    ck_assert_int_eq(btl->btl_get(btl, NULL, NULL, 0, NULL, handle, 0, 0, 0, NULL, NULL, NULL),
                     status);
    ck_assert_int_eq(
        btl->btl_atomic_op(btl, NULL, 0, handle, MCA_BTL_ATOMIC_ADD, 0, 0, 0, NULL, NULL, NULL),
        status);
    ck_assert_int_eq(btl->btl_atomic_fop(btl, NULL, NULL, 0, NULL, handle, MCA_BTL_ATOMIC_ADD, 0, 0,
                                         0, NULL, NULL, NULL),
                     status);
    ck_assert_int_eq(
        btl->btl_atomic_cswap(btl, NULL, NULL, 0, NULL, handle, 0, 0, 0, 0, NULL, NULL, NULL),
        status);
}

/* The same of both modules of a component. */
static void expect_twins(int status)
{
    expect_all(&modules[0], status);
    expect_all(&modules[1], status);
}

START_TEST(a_held_module_is_short_whatever_is_asked)
{
    static const int ends[] = {OPAL_CRS_CONTINUE, OPAL_CRS_RUNNING, OPAL_CRS_ERROR,
                               OPAL_CRS_RESTART};
    open_all();
    expect_twins(TOOK);
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        ck_assert_int_eq(btl_component_ft_event(&twins, OPAL_CRS_CHECKPOINT), OPAL_SUCCESS);
        expect_twins(OPAL_ERR_OUT_OF_RESOURCE);
        expect_all(&modules[TWINS], TOOK);
        ck_assert_int_eq(btl_component_ft_event(&twins, OPAL_CRS_CHECKPOINT), OPAL_SUCCESS);
        ck_assert_int_eq(btl_component_ft_event(&twins, OPAL_CRS_TERM), OPAL_SUCCESS);
        expect_twins(OPAL_ERR_OUT_OF_RESOURCE);
        ck_assert_int_eq(btl_component_ft_event(&twins, ends[i]), OPAL_SUCCESS);
        expect_twins(TOOK);
    }
    btl_close();
}
END_TEST

/* What others send is no reason to wait longer. */
START_TEST(a_checkpoint_gives_up_amid_events)
{
    ck_assert_int_eq(param_override("btl_base_quiesce_timeout_ms", "20"), ORTE_SUCCESS);
    open_all();
    events = 1;
    quiet = false;
    ck_assert_int_eq(btl_component_ft_event(&twins, OPAL_CRS_CHECKPOINT), OPAL_ERR_TIMEOUT);
    ck_assert_int_gt(asked, 1);
    expect_twins(OPAL_ERR_OUT_OF_RESOURCE); /* held all the same */
    btl_close();
}
END_TEST

static void all_are_held(void)
{
    expect_twins(OPAL_ERR_OUT_OF_RESOURCE);
    expect_all(&modules[TWINS], OPAL_ERR_OUT_OF_RESOURCE);
}

START_TEST(all_are_held_before_the_first_is_drained)
{
    open_all();
    while_drained = all_are_held;
    ck_assert_int_eq(btl_ft_event(OPAL_CRS_CHECKPOINT), OPAL_SUCCESS);
    ck_assert_int_eq(asked, MODULES);
    ck_assert_int_eq(btl_ft_event(OPAL_CRS_CONTINUE), OPAL_SUCCESS);
    expect_twins(TOOK);
    expect_all(&modules[TWINS], TOOK);
    btl_close();
}
END_TEST

START_TEST(each_module_restarts_and_the_first_error_is_told)
{
    open_all();
    result[1] = OPAL_ERR_UNREACH;
    ck_assert_int_eq(btl_ft_event(OPAL_CRS_RESTART), OPAL_ERR_UNREACH);
    ck_assert_int_eq(restarts, TWINS);
    result[0] = OPAL_ERR_TIMEOUT;
    ck_assert_int_eq(btl_component_ft_event(&twins, OPAL_CRS_RESTART), OPAL_ERR_TIMEOUT);
    ck_assert_int_eq(restarts, 2 * TWINS);
    ck_assert_int_eq(btl_component_ft_event(&other, OPAL_CRS_RESTART), OPAL_SUCCESS);
    expect_twins(TOOK);
    expect_all(&modules[TWINS], TOOK);
    btl_close();
}
END_TEST

static int inside;

static void checkpoint_inside(void)
{
    inside = btl_component_ft_event(&twins, OPAL_CRS_CHECKPOINT);
}

START_TEST(what_cannot_be_is_refused)
{
    static const struct btl_component unopened;
    open_all();
    in_progress = checkpoint_inside;
    btl_progress();
    ck_assert_int_eq(inside, OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(btl_ft_event(OPAL_CRS_NONE - 1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(btl_ft_event(OPAL_CRS_ERROR + 1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(btl_component_ft_event(&unopened, OPAL_CRS_CHECKPOINT),
                     OPAL_ERR_NOT_AVAILABLE);
    expect_twins(TOOK);
    ck_assert_int_eq(asked, 0);
    btl_close();
    ck_assert_int_eq(btl_component_ft_event(&twins, OPAL_CRS_CHECKPOINT), OPAL_ERR_NOT_AVAILABLE);
}
END_TEST

UNIT_MAIN("ftevent")
