/* The PTL framework, over tests/unit/ptl/mock.h. */
#include <tests/lib/unit.h>

#include <ptl/base.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/ptl/mock.h>

/* --- a PML of one message --- */

static struct {
    mca_ptl_base_send_request_t send;
    mca_ptl_base_recv_request_t recv;
    mca_ptl_base_recv_frag_t *early; /* a fragment without a receive */
    bool posted;
    struct ptl_path path;
    mca_ptl_base_module_t *caller; /* of the last upcall */
    size_t size, sent, received, delivered;
    char source[100], target[100];
} pml;

static bool match(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag,
                  mca_ptl_base_match_header_t *header)
{
    ck_assert_int_eq(header->hdr_tag, 42);
    ck_assert_uint_eq(header->hdr_msg_length, pml.size);
    pml.caller = ptl;
    if (!pml.posted) {
        pml.early = frag;
        return false;
    }
    frag->frag_request = &pml.recv;
    ptl->ptl_matched(ptl, frag);
    return true;
}

static void send_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_send_request_t *request,
                          size_t bytes)
{
    ck_assert_ptr_eq(request, &pml.send);
    pml.caller = ptl;
    pml.sent += bytes;
    if (request->req_offset < pml.size) {
        ptl->ptl_put(ptl, pml.path.peer, request, request->req_offset,
                     pml.size - request->req_offset, 0);
    }
}

static void recv_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_request_t *request,
                          size_t received, size_t delivered)
{
    ck_assert_ptr_eq(request, &pml.recv);
    pml.caller = ptl;
    pml.received += received;
    pml.delivered += delivered;
}

static bool matchi(struct keel_ptl_module_t *ptl, const mca_ptl_base_match_header_t *header,
                   const void *bytes)
{
    (void) ptl, (void) header, (void) bytes;
    return false;
}

static const struct ptl_upcalls upcalls = {.match = match,
                                           .send_progress = send_progress,
                                           .recv_progress = recv_progress,
                                           .matchi = matchi};

/* Sends a message of this size over the first path, to a receive of room bytes. */
static void send_message(size_t size, size_t room, int flags)
{
    for (size_t i = 0; i < sizeof(pml.source); i++) {
        pml.source[i] = (char) (i + 1);
    }
    pml.size = size;
    pml.send = (mca_ptl_base_send_request_t){
        .req_header = {.hdr_tag = 42, .hdr_src = 1, .hdr_dst = 1, .hdr_msg_length = size}};
    opal_convertor_prepare(&pml.send.req_convertor, pml.source, size);
    opal_convertor_prepare(&pml.recv.req_convertor, pml.target, room);
    ck_assert_int_eq(pml.path.ptl->ptl_send(pml.path.ptl, pml.path.peer, &pml.send, 0, size, flags),
                     OPAL_SUCCESS);
}

/* --- what tests share --- */

static struct ptl_set *set;
static opal_proc_t processes[4] = {
    {.proc_name = {1, 0}}, {.proc_name = {1, 1}}, {.proc_name = {1, 2}}, {.proc_name = {1, 3}}};
static struct ompi_proc_t *procs[4];
static struct ptl_paths paths[4];

static mca_ptl_base_component_t *const components[] = {&mock_component, NULL};

static int open_with(const struct mock_plan *plans, int count)
{
    memcpy(mock.plans, plans, (size_t) count * sizeof(*plans));
    mock.count = count;
    for (size_t i = 0; i < 4; i++) {
        procs[i] = (struct ompi_proc_t *) &processes[i];
    }
    return ptl_open(&set, components, &upcalls, false, true);
}

static void open_one(void)
{
    ck_assert_int_eq(open_with(&(struct mock_plan){.reaches = 0xf}, 1), ORTE_SUCCESS);
}

static void add_one(void)
{
    ck_assert_int_eq(ptl_add_procs(set, 1, procs, paths), ORTE_SUCCESS);
    ck_assert_uint_eq(paths[0].count, 1);
    pml.path = paths[0].path[0];
}

static void close_all(size_t count)
{
    ck_assert_int_eq(ptl_del_procs(count, procs, paths), ORTE_SUCCESS);
    ptl_close(set);
    ck_assert_int_eq(mock.finalized, mock.count);
    ck_assert_int_eq(mock.closed, 1);
    for (int i = 0; i < mock.count; i++) {
        ck_assert_int_eq(mock.added[i], 0);
    }
}

static size_t index_of(size_t proc, size_t path)
{
    return mock_index(paths[proc].path[path].ptl);
}

/* --- components --- */

START_TEST(modules_are_sorted_by_exclusivity)
{
    const struct mock_plan plans[] = {
        {.exclusivity = 0}, {.exclusivity = 50}, {.exclusivity = 0}, {.exclusivity = 100}};
    ck_assert_int_eq(open_with(plans, 4), ORTE_SUCCESS);
    ck_assert(mock.threads && !mock.progress_threads);
    size_t count;
    mca_ptl_base_module_t **modules = ptl_modules(set, &count);
    const size_t order[] = {3, 1, 0, 2};
    ck_assert_uint_eq(count, 4);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(mock_index(modules[i]), order[i]);
    }
    close_all(0);
}
END_TEST

START_TEST(a_component_that_does_not_open_is_left_out)
{
    mock.refuses = OPAL_ERR_NOT_FOUND;
    ck_assert_int_eq(open_with(&(struct mock_plan){0}, 1), ORTE_ERR_NOT_AVAILABLE);
    ck_assert_int_eq(mock.opened, 1);
    ck_assert_int_eq(mock.closed, 0);
    ck_assert_ptr_null(set);
}
END_TEST

START_TEST(a_component_without_modules_is_closed)
{
    ck_assert_int_eq(open_with(&(struct mock_plan){0}, 0), ORTE_ERR_NOT_AVAILABLE);
    ck_assert_int_eq(mock.closed, 1);
    ck_assert_ptr_null(set);
    ptl_close(set);
}
END_TEST

/* A component of another kind: no functions to open and close, and nothing but control. */
static int other_controls, other_polls;
static mca_ptl_tstamp_t other_time;

static int other_finalize(mca_ptl_base_module_t *ptl)
{
    (void) ptl;
    return OPAL_SUCCESS;
}

static mca_ptl_base_module_t other_module = {.ptl_exclusivity = 1, .ptl_finalize = other_finalize};

static mca_ptl_base_module_t **other_init(int *num_ptls, bool progress, bool threads)
{
    (void) progress, (void) threads;
    mca_ptl_base_module_t **made = malloc(sizeof(mca_ptl_base_module_t *));
    made[0] = &other_module;
    *num_ptls = 1;
    return made;
}

static int other_control(int param, void *value, size_t size)
{
    (void) param, (void) value, (void) size;
    other_controls++;
    return OPAL_SUCCESS;
}

static int other_progress(mca_ptl_tstamp_t tstamp)
{
    other_polls++;
    other_time = tstamp;
    return OPAL_SUCCESS;
}

static mca_ptl_base_component_t other_component = {
    .ptlm_version = {MCA_PTL_BASE_VERSION_1_0_0, "other"},
    .ptlm_init = other_init,
    .ptlm_control = other_control,
    .ptlm_progress = other_progress};
static mca_ptl_base_component_t *const both[] = {&mock_component, &other_component, NULL};

START_TEST(control_and_progress_reach_every_component)
{
    mock.count = 1;
    ck_assert_int_eq(ptl_open(&set, both, &upcalls, false, false), ORTE_SUCCESS);
    bool on = true;
    ck_assert_int_eq(ptl_control(set, MCA_PTL_ENABLE, &on, sizeof(on)), OPAL_SUCCESS);
    ck_assert(mock.enabled);
    ck_assert_int_eq(ptl_control(set, MCA_PTL_ENABLE + 1, &on, sizeof(on)), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(ptl_progress(set, 77), OPAL_SUCCESS);
    ck_assert_uint_eq(other_time, 77);

    mock.lame = OPAL_ERR_FATAL;
    ck_assert_int_eq(ptl_control(set, MCA_PTL_ENABLE, &on, sizeof(on)), OPAL_ERR_FATAL);
    ck_assert_int_eq(ptl_progress(set, 78), OPAL_ERR_FATAL);
    ck_assert_int_eq(other_controls, 3);
    ck_assert_int_eq(other_polls, 2);
    close_all(0);
}
END_TEST

/* --- selection --- */

START_TEST(the_highest_exclusivity_that_reaches_a_process_is_used)
{
    const struct mock_plan plans[] = {{.exclusivity = 0, .reaches = 0x7},
                                      {.exclusivity = 100, .reaches = 0x1},
                                      {.exclusivity = 50, .reaches = 0x3},
                                      {.exclusivity = 0, .reaches = 0x7}};
    ck_assert_int_eq(open_with(plans, 4), ORTE_SUCCESS);
    ck_assert_int_eq(ptl_add_procs(set, 4, procs, paths), ORTE_ERR_UNREACH);
    ck_assert_uint_eq(paths[0].count, 1);
    ck_assert_uint_eq(index_of(0, 0), 1);
    ck_assert_uint_eq(paths[1].count, 1);
    ck_assert_uint_eq(index_of(1, 0), 2);
    ck_assert_uint_eq(paths[2].count, 2);
    ck_assert_uint_eq(index_of(2, 0) + index_of(2, 1), 0 + 3);
    ck_assert_uint_eq(paths[3].count, 0);
    /* Lower classes were asked for the rest alone. */
    const int asked[] = {2, 4, 3, 2};
    ck_assert_mem_eq(mock.asked, asked, sizeof(asked));
    close_all(4);
}
END_TEST

START_TEST(lower_classes_are_not_asked_when_all_are_reached)
{
    const struct mock_plan plans[] = {{.exclusivity = 1, .reaches = 0xf}, {.reaches = 0xf}};
    ck_assert_int_eq(open_with(plans, 2), ORTE_SUCCESS);
    ck_assert_int_eq(ptl_add_procs(set, 4, procs, paths), ORTE_SUCCESS);
    ck_assert_int_eq(mock.asked[1], 0);
    close_all(4);
}
END_TEST

START_TEST(paths_are_sorted_by_latency_and_then_bandwidth)
{
    const struct mock_plan plans[] = {{.latency = 9, .bandwidth = 900, .reaches = 0xf},
                                      {.latency = 2, .bandwidth = 100, .reaches = 0xf},
                                      {.latency = 2, .bandwidth = 300, .reaches = 0xf},
                                      {.latency = 9, .bandwidth = 950, .reaches = 0xf}};
    ck_assert_int_eq(open_with(plans, 4), ORTE_SUCCESS);
    ck_assert_int_eq(ptl_add_procs(set, 1, procs, paths), ORTE_SUCCESS);
    const size_t order[] = {2, 1, 3, 0};
    ck_assert_uint_eq(paths[0].count, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(index_of(0, i), order[i]);
    }
    close_all(1);
}
END_TEST

START_TEST(a_module_that_fails_does_not_stop_the_others)
{
    const struct mock_plan plans[] = {{.exclusivity = 9, .reaches = 0xf, .broken = true},
                                      {.reaches = 0xf}};
    ck_assert_int_eq(open_with(plans, 2), ORTE_SUCCESS);
    ck_assert_int_eq(ptl_add_procs(set, 4, procs, paths), ORTE_SUCCESS);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(index_of(i, 0), 1);
    }
    close_all(4);
}
END_TEST

START_TEST(no_process_is_no_error)
{
    open_one();
    ck_assert_int_eq(ptl_add_procs(set, 0, procs, paths), ORTE_SUCCESS);
    ck_assert_int_eq(mock.asked[0], 0);
    close_all(0);
}
END_TEST

/* --- paths that change --- */

static size_t renew(int status)
{
    size_t lost = 99;
    ck_assert_int_eq(ptl_renew_proc(set, procs[0], &paths[0], &lost), status);
    return lost;
}

START_TEST(paths_that_are_there_are_kept)
{
    const struct mock_plan plans[] = {{.exclusivity = 9, .reaches = 0xf},
                                      {.exclusivity = 9, .latency = 1, .reaches = 0xf},
                                      {.exclusivity = 5, .reaches = 0xf}};
    ck_assert_int_eq(open_with(plans, 3), ORTE_SUCCESS);
    mock.keeps_peers = true;
    ck_assert_int_eq(ptl_add_procs(set, 1, procs, paths), ORTE_SUCCESS);
    struct mca_ptl_base_peer_t *second = paths[0].path[1].peer;
    ck_assert_uint_eq(renew(ORTE_SUCCESS), 0);
    ck_assert_uint_eq(paths[0].count, 2);
    mock.plans[0].reaches = 0;
    ck_assert_uint_eq(renew(ORTE_SUCCESS), 1);
    ck_assert_uint_eq(paths[0].count, 1);
    ck_assert_ptr_eq(paths[0].path[0].peer, second);
    ck_assert_int_eq(mock.asked[2], 0);
    mock.plans[0].reaches = 0xf; /* it has come back */
    ck_assert_uint_eq(renew(ORTE_SUCCESS), 0);
    ck_assert_uint_eq(paths[0].count, 2);
    ck_assert_uint_eq(index_of(0, 0), 0);
    close_all(1);
}
END_TEST

START_TEST(lower_classes_are_asked_when_none_is_left)
{
    const struct mock_plan plans[] = {{.exclusivity = 9, .reaches = 0xf},
                                      {.exclusivity = 5, .reaches = 0xf},
                                      {.exclusivity = 1, .reaches = 0xf}};
    ck_assert_int_eq(open_with(plans, 3), ORTE_SUCCESS);
    mock.keeps_peers = true;
    ck_assert_int_eq(ptl_add_procs(set, 1, procs, paths), ORTE_SUCCESS);
    mock.plans[0].reaches = 0;
    ck_assert_uint_eq(renew(ORTE_SUCCESS), 1);
    ck_assert_uint_eq(index_of(0, 0), 1);
    mock.plans[0].reaches = 0xf; /* the process stays where it is */
    ck_assert_uint_eq(renew(ORTE_SUCCESS), 0);
    ck_assert_uint_eq(index_of(0, 0), 1);
    mock.plans[0].reaches = mock.plans[1].reaches = mock.plans[2].reaches = 0;
    ck_assert_uint_eq(renew(ORTE_ERR_UNREACH), 1);
    ck_assert_uint_eq(paths[0].count, 0);
    ck_assert_uint_eq(renew(ORTE_ERR_UNREACH), 0);
    mock.plans[2].reaches = 0xf;
    ck_assert_uint_eq(renew(ORTE_SUCCESS), 0);
    ck_assert_uint_eq(index_of(0, 0), 2);
    close_all(1);
}
END_TEST

START_TEST(deleting_tells_the_first_error)
{
    open_one();
    ck_assert_int_eq(ptl_add_procs(set, 2, procs, paths), ORTE_SUCCESS);
    struct ompi_proc_t *swapped[] = {procs[1], procs[0]};
    ck_assert_int_eq(ptl_del_procs(2, swapped, paths), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(mock.added[0], 0);
    ck_assert_ptr_null(paths[0].path);
    ptl_close(set);
}
END_TEST

/* --- messages --- */

START_TEST(a_short_message_comes_when_its_time_has_come)
{
    mock.delay = 100;
    open_one();
    add_one();
    pml.posted = true;
    send_message(10, sizeof(pml.target), 0);
    ck_assert_uint_eq(pml.sent, 10);
    ck_assert_int_eq(ptl_progress(set, 99), OPAL_SUCCESS);
    ck_assert_uint_eq(pml.received, 0);
    ck_assert_int_eq(ptl_progress(set, 100), OPAL_SUCCESS);
    ck_assert_uint_eq(pml.received, 10);
    ck_assert_mem_eq(pml.target, pml.source, 10);
    close_all(1);
}
END_TEST

START_TEST(the_rest_of_a_long_message_follows_the_acknowledgement)
{
    open_one();
    add_one();
    send_message(100, sizeof(pml.target), MCA_PTL_FLAGS_ACK);
    ck_assert_int_eq(ptl_progress(set, 1), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(pml.early);
    ck_assert_uint_eq(pml.sent, 0);
    ck_assert_uint_eq(pml.send.req_offset, pml.path.ptl->ptl_first_frag_size);

    pml.early->frag_request = &pml.recv;
    pml.path.ptl->ptl_matched(pml.path.ptl, pml.early);
    ck_assert_int_eq(ptl_progress(set, 2), OPAL_SUCCESS);
    ck_assert_ptr_eq(pml.send.req_peer_match.pval, &pml.recv);
    ck_assert_ptr_eq(pml.send.req_peer_addr.pval, pml.target);
    ck_assert_uint_eq(pml.send.req_peer_size, sizeof(pml.target));
    ck_assert_uint_eq(pml.sent, 100);
    ck_assert_uint_eq(pml.received, 100);
    ck_assert_mem_eq(pml.target, pml.source, 100);
    close_all(1);
}
END_TEST

START_TEST(bytes_that_do_not_fit_are_received_and_not_delivered)
{
    open_one();
    add_one();
    pml.posted = true;
    send_message(100, 60, MCA_PTL_FLAGS_ACK);
    ck_assert_int_eq(ptl_progress(set, 1), OPAL_SUCCESS);
    ck_assert_uint_eq(pml.received, 100);
    ck_assert_uint_eq(pml.delivered, 60);
    ck_assert_mem_eq(pml.target, pml.source, 60);
    ck_assert_int_eq(pml.target[60], 0);
    close_all(1);
}
END_TEST

/* --- a module before another: counts what passes --- */

static struct {
    mca_ptl_base_module_t super;
    int sends, matches;
    int finalized_after; /* modules below that were finalized before */
} counter;

static int counter_add(mca_ptl_base_module_t *ptl, size_t nprocs, struct ompi_proc_t **added,
                       struct mca_ptl_base_peer_t **peers, struct ompi_bitmap_t *reachable)
{
    return ptl->ptl_stack->ptl_add_procs(ptl->ptl_stack, nprocs, added, peers, reachable);
}

static int counter_del(mca_ptl_base_module_t *ptl, size_t nprocs, struct ompi_proc_t **deleted,
                       struct mca_ptl_base_peer_t **peers)
{
    return ptl->ptl_stack->ptl_del_procs(ptl->ptl_stack, nprocs, deleted, peers);
}

static int counter_send(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                        mca_ptl_base_send_request_t *request, size_t offset, size_t size, int flags)
{
    counter.sends++;
    return ptl->ptl_stack->ptl_send(ptl->ptl_stack, peer, request, offset, size, flags);
}

static void counter_matched(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag)
{
    ptl->ptl_stack->ptl_matched(ptl->ptl_stack, frag);
}

static bool counter_match(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag,
                          mca_ptl_base_match_header_t *header)
{
    ck_assert_ptr_eq(ptl, counter.super.ptl_stack);
    counter.matches++;
    return counter.super.ptl_match(&counter.super, frag, header);
}

static int counter_finalize(mca_ptl_base_module_t *ptl)
{
    (void) ptl;
    counter.finalized_after = mock.finalized;
    return OPAL_SUCCESS;
}

static void counter_init(uint32_t exclusivity)
{
    counter.finalized_after = -1;
    counter.super = (mca_ptl_base_module_t){.ptl_exclusivity = exclusivity,
                                            .ptl_add_procs = counter_add,
                                            .ptl_del_procs = counter_del,
                                            .ptl_finalize = counter_finalize,
                                            .ptl_send = counter_send,
                                            .ptl_matched = counter_matched,
                                            .ptl_match = counter_match};
}

START_TEST(a_module_takes_the_place_of_another)
{
    open_one();
    size_t count;
    mca_ptl_base_module_t *lower = ptl_modules(set, &count)[0];
    lower->ptl_base = (struct mca_pml_base_ptl_t *) (void *) &pml;
    counter_init(0);
    ck_assert_int_eq(ptl_stack(set, &counter.super, lower), ORTE_SUCCESS);
    ck_assert_ptr_eq(ptl_modules(set, &count)[0], &counter.super);
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(counter.super.ptl_stack, lower);
    ck_assert_ptr_eq(counter.super.ptl_base, (void *) &pml);

    add_one();
    ck_assert_ptr_eq(pml.path.ptl, &counter.super);
    pml.posted = true;
    send_message(10, sizeof(pml.target), 0);
    ck_assert_ptr_eq(pml.caller, lower); /* it had no function of its own for that */
    ck_assert_int_eq(ptl_progress(set, 1), OPAL_SUCCESS);
    ck_assert_int_eq(counter.sends, 1);
    ck_assert_int_eq(counter.matches, 1);
    ck_assert_uint_eq(pml.delivered, 10);
    close_all(1);
    ck_assert_int_eq(counter.finalized_after, 0);
}
END_TEST

START_TEST(no_message_takes_a_short_way_past_a_module)
{
    ck_assert_int_eq(open_with(&(struct mock_plan){.flags = MCA_PTL_FLAGS_EXTENDED}, 1),
                     ORTE_SUCCESS);
    size_t count;
    struct keel_ptl_module_t *lower = keel_ptl_extended(ptl_modules(set, &count)[0]);
    ck_assert_ptr_eq(lower->ptl_matchi, matchi);
    counter_init(0);
    ck_assert_int_eq(ptl_stack(set, &counter.super, &lower->super), ORTE_SUCCESS);
    ck_assert_ptr_null(lower->ptl_matchi);
    ck_assert_ptr_eq(lower->super.ptl_match, counter_match);
    close_all(0);
}
END_TEST

START_TEST(the_place_to_take_is_checked)
{
    open_one();
    size_t count;
    mca_ptl_base_module_t *lower = ptl_modules(set, &count)[0];
    counter_init(5);
    ck_assert_int_eq(ptl_stack(set, &counter.super, lower), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(ptl_stack(set, lower, &counter.super), ORTE_ERR_NOT_FOUND);
    ck_assert_ptr_null(counter.super.ptl_stack);
    ck_assert_ptr_eq(lower->ptl_match, match);
    close_all(0);
}
END_TEST

UNIT_MAIN("ptl")
