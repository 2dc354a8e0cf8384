/* The PML of a process that a host opens, whose rails are tests/unit/pml/world.h's. */
#include <config.h>

#include <ptl/components.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/pml/world.h>

mca_ptl_base_component_t ptl_rail_component; /* in the place of the library's */

static const opal_proc_t *me(void *host)
{
    ck_assert_ptr_eq(host, &world);
    return &world.procs[0];
}

static bool is_busy;

void ptl_rail_after_pass(const bool *wanted, void (*settle)(void *arg), void *arg)
{
    (void) wanted, (void) settle, (void) arg;
}

void ptl_rail_forget(void)
{
}

bool ptl_rail_is_busy(void)
{
    return is_busy;
}

bool ptl_rail_is_shared(void)
{
    return false;
}

bool ptl_rail_has_thread(void)
{
    return false;
}

void ptl_rail_lock(void)
{
}

void ptl_rail_unlock(bool leaves_work)
{
    (void) leaves_work;
}

bool ptl_rail_rest(void (*rest)(void *arg, uint64_t until_us, struct pollfd *watch, size_t count),
                   void *arg, uint64_t until_us)
{
    (void) rest, (void) arg, (void) until_us;
    return false;
}

uint64_t ptl_rail_events(void)
{
    return 0;
}

static int polls;

static int poll_host(void *host)
{
    ck_assert_ptr_eq(host, &world);
    polls++;
    return keel_pml_progress(); /* does nothing */
}

static const struct keel_host_ops ops = {.me = me, .progress = poll_host};

static void prepare(void)
{
    ptl_rail_component = world_component;
    world = (struct world){
        .rules = {.ranks = 1, .flags = MCA_PTL_FLAGS_EXTENDED, .first = 64, .max = 64}};
    world.procs[0].proc_name = (orte_process_name_t){1, 0};
    world.members[0] = &world.procs[0];
}

START_TEST(a_host_sends_to_itself)
{
    struct keel_pml_context *context;
    struct keel_pml_request *request;
    char from[200], to[200] = {0};
    opal_convertor_t out, in;
    prepare();
    opal_convertor_prepare(&out, from, sizeof(from));
    opal_convertor_prepare(&in, to, sizeof(to));
    memset(from, 'k', sizeof(from));
    ck_assert_int_eq(keel_pml_open_on(&ops, &world), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_open_on(&ops, &world), OPAL_EXISTS);
    ck_assert_int_eq(keel_pml_context_open(0, NULL, 1, 0, &context), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(keel_pml_context_open(0, world.members, 1, 0, &context), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_isend(context, &out, 0, 1, KEEL_PML_STANDARD, &request),
                     OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_recv(context, &in, 0, 1, NULL), OPAL_SUCCESS);
    ck_assert_mem_eq(from, to, sizeof(from));
    ck_assert_int_eq(keel_pml_wait(&request, NULL), OPAL_SUCCESS);
    ck_assert_int_gt(polls, 0);
    ck_assert_int_eq(keel_pml_close(), OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(keel_pml_context_free(&context), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_close(), OPAL_SUCCESS);
}
END_TEST

START_TEST(what_is_not_open_does_nothing)
{
    struct keel_pml_context *context = NULL;
    prepare();
    const struct keel_host_ops nameless = {0};
    ck_assert_int_eq(keel_pml_open_on(NULL, NULL), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(keel_pml_open_on(&nameless, NULL), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(keel_pml_close(), OPAL_ERROR);
    ck_assert_int_eq(keel_pml_progress(), 0);
    ck_assert_int_eq(keel_pml_context_open(0, world.members, 1, 0, &context), OPAL_ERROR);
    ck_assert_ptr_null(context);
}
END_TEST

UNIT_MAIN("process")
