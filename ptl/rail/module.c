#include <config.h>

#include <base/data/crypto.h>
#include <base/data/least.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/text/words.h>
#include <btl/interface/base.h>
#include <btl/lock/lock.h>
#include <btl/lock/wake.h>
#include <btl/plane/plane.h>
#include <keel/host.h>
#include <ptl/components.h>
#include <ptl/rail/link.h>
#include <stdlib.h>

struct rail rail;

enum rendezvous { RENDEZVOUS_GET, RENDEZVOUS_PUT, RENDEZVOUS_SEND };
static const char *const rendezvous_names[] = {"get", "put", "send", NULL};

static struct {
    struct param rendezvous, send_only, registered_size, answers_size, failover;
} params = {
    .rendezvous = PARAM_ENUM("ptl_rail_rendezvous", "get", rendezvous_names,
                             "How the bytes of a long message move, where a rail has a choice: the "
                             "receiver gets them, the sender puts them, or sends them in pieces."),
    .send_only = PARAM_STRING("ptl_rail_send_only", "",
                              "Components of the data plane (usnic,tcp) whose rails move long "
                              "messages in pieces alone, whatever ptl_rail_rendezvous says."),
    .registered_size = PARAM_SIZE(
        "ptl_rail_registered_size", "8m", 4096, INT64_C(1) << 40,
        "Most bytes of a message that are registered at a time on a rail that pins memory; "
        "a longer message is put in pieces of half of it."),
    .answers_size = PARAM_SIZE("ptl_rail_answers_size", "64m", 0, INT64_C(1) << 40,
                               "Memory for answers to a peer that wait for room on a rail; a peer "
                               "that lets more wait is given up."),
    .failover = PARAM_BOOL("ptl_rail_failover", "1",
                           "Messages outlive the loss of a rail where another one leads to their "
                           "process; costs a copy of each that is not acknowledged yet."),
};
PARAM_ROWS("ptl", params);

/* --- peers --- */

/* NULL: the choice of rails does not lead to the process by this module. */
static struct mca_btl_base_endpoint_t *endpoint_to(const struct rail_module *module,
                                                   const opal_proc_t *proc)
{
    size_t count;
    const struct keel_rail *rails = keel_host_rails(proc, &count);
    for (size_t i = 0; i < count; i++) {
        if (rails[i].btl == module->btl && rails[i].send) {
            return rails[i].endpoint;
        }
    }
    return NULL;
}

static bool are_under_way(const struct list *ops)
{
    const struct rail_op *op;
    list_for_each (op, ops, const struct rail_op, link) {
        if (!op->awaits) {
            return true;
        }
    }
    return false;
}

/* A module accesses the buffer of a request to or from the process. */
static bool has_ops(const opal_proc_t *proc)
{
    const struct rail_recv *recv;
    const struct rail_send *send;
    list_for_each (recv, &rail.all_recvs, const struct rail_recv, link) {
        if (recv->proc == proc && are_under_way(&recv->ops)) {
            return true;
        }
    }
    list_for_each (send, &rail.all_sends, const struct rail_send, link) {
        if (send->proc == proc && are_under_way(&send->ops)) {
            return true;
        }
    }
    return false;
}

static bool is_given_up(const opal_proc_t *proc)
{
    return roster_find(rail.given_up, &proc->proc_name);
}

/* The same; none to a process that was given up, once its puts and gets are over. */
static struct mca_btl_base_endpoint_t *way_to(const struct rail_module *module,
                                              const opal_proc_t *proc)
{
    return is_given_up(proc) && !has_ops(proc) ? NULL : endpoint_to(module, proc);
}

static void peer_destroy(struct mca_ptl_base_peer_t *peer)
{
    if (!peer->link_to) { /* else another rail may bring the answers */
        rail_forget_sends(peer->module, peer->proc);
    }
    rail_room_leave(peer->room);
    list_remove(&peer->link);
    roster_remove(peer->module->roster, peer, true);
}

/* NULL: no memory. */
static struct mca_ptl_base_peer_t *peer_create(struct rail_module *module, opal_proc_t *proc,
                                               struct mca_btl_base_endpoint_t *endpoint)
{
    struct mca_ptl_base_peer_t *peer = roster_add(module->roster, &proc->proc_name, proc);
    if (peer) {
        peer->module = module;
        peer->proc = proc;
        peer->link_to = rail_link_to(proc);
        peer->endpoint = endpoint;
        list_append(&module->peers, &peer->link);
    }
    return peer;
}

static int del_procs(mca_ptl_base_module_t *ptl, size_t count, struct ompi_proc_t **procs,
                     struct mca_ptl_base_peer_t **peers)
{
    int status = OPAL_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        struct mca_ptl_base_peer_t *peer =
            roster_find(rail_of(ptl)->roster, &procs[i]->super.proc_name);
        if (!peer || peer != peers[i]) {
            status = OPAL_ERR_BAD_PARAM;
        } else {
            peer_destroy(peer);
        }
    }
    return status;
}

static int add_procs(mca_ptl_base_module_t *ptl, size_t count, struct ompi_proc_t **procs,
                     struct mca_ptl_base_peer_t **peers, struct ompi_bitmap_t *reachable)
{
    struct rail_module *module = rail_of(ptl);
    for (size_t i = 0; i < count; i++) {
        opal_proc_t *proc = &procs[i]->super;
        struct mca_btl_base_endpoint_t *endpoint = way_to(module, proc);
        peers[i] = endpoint ? roster_find(module->roster, &proc->proc_name) : NULL;
        if (endpoint && !peers[i]) {
            peers[i] = peer_create(module, proc, endpoint);
        }
        if (endpoint && !peers[i]) {
            return OPAL_ERR_OUT_OF_RESOURCE; /* those before it stay until they are deleted */
        }
        if (peers[i]) {
            peers[i]->reached = !is_given_up(proc);
            opal_bitmap_set_bit(&reachable->super, (int) i);
        }
    }
    return OPAL_SUCCESS;
}

static void rails_changed(const orte_process_name_t *name, void *unused);

/* No module reaches the process any more. */
static bool give_up(const orte_process_name_t *name)
{
    if (roster_find(rail.given_up, name)) {
        return false;
    }
    if (!roster_add(rail.given_up, name, NULL)) {
        log_error(LOG_PTL, "out of memory: messages by tag may wait for ever");
    }
    rail_link_lose(name);
    return true;
}

void rail_given_up_by(const orte_process_name_t *name)
{
    if (give_up(name)) {
        rails_changed(name, NULL);
    }
}

/* What a rail to a process has lost, others that are left carry; without any, the process is lost,
 * also if the rail comes back. */
static void rail_lost(struct rail_module *module, const struct mca_ptl_base_peer_t *peer, bool left)
{
    if (left && peer->link_to) {
        rail_memory_lost(module, peer->proc);
        return;
    }
    rail_fail_sends(peer->link_to ? NULL : module, peer->proc, OPAL_ERR_UNREACH);
    if (rail.failover) {
        (void) give_up(&peer->proc->proc_name);
    }
}

/* NULL: no module was asked for it. */
static opal_proc_t *known_as(const orte_process_name_t *name)
{
    for (size_t i = 0; i < rail.count; i++) {
        const struct mca_ptl_base_peer_t *peer = roster_find(rail.modules[i]->roster, name);
        if (peer) {
            return peer->proc;
        }
    }
    return NULL;
}

/* Nothing more begins with a process that was given up. */
static void refuse_calls(const opal_proc_t *proc)
{
    for (size_t i = 0; i < rail.count; i++) {
        struct mca_ptl_base_peer_t *peer = roster_find(rail.modules[i]->roster, &proc->proc_name);
        if (peer) {
            peer->reached = false;
        }
    }
}

/* The modules of the process, in the layer above, are those that reach it now. A rail that the
 * layer does not use yet, for it is new or was lost before, has no peer. */
static void renew_peers(opal_proc_t *proc, bool left)
{
    const bool given_up = is_given_up(proc);
    for (size_t i = 0; i < rail.count; i++) {
        struct rail_module *module = rail.modules[i];
        struct mca_ptl_base_peer_t *peer = roster_find(module->roster, &proc->proc_name);
        const struct mca_btl_base_endpoint_t *way = way_to(module, proc);
        const bool reached = peer ? way == peer->endpoint : way != NULL;
        if (peer ? peer->reached == reached && !given_up : !reached) {
            continue;
        }
        if (peer) {
            peer->reached = reached;
        }
        if (!reached) {
            rail_lost(module, peer, left);
        }
        module->super.ptl_peer_changed(&module->super, (struct ompi_proc_t *) proc);
    }
}

/* The end of a process waits for its puts and gets (rail_op_is_over): until then they access
 * buffers of requests that end with it. */
static void rails_changed(const orte_process_name_t *name, void *unused)
{
    (void) unused;
    struct rail_link *link = roster_find(rail.links, name);
    rail.last_endpoint = NULL; /* it may be another process's from now on */
    bool left = link && rail_link_renew(link);
    const bool none = link && link->numbers && !left;
    if (none) {
        (void) give_up(name);
    }
    opal_proc_t *proc = known_as(name);
    if (proc && is_given_up(proc) && has_ops(proc)) {
        refuse_calls(proc);
        return;
    }
    if (none) {
        rail_fail_sends(NULL, link->proc, OPAL_ERR_UNREACH); /* also where no peer was added yet */
    }
    if (proc) {
        renew_peers(proc, left);
    }
}

void rail_op_is_over(const opal_proc_t *proc)
{
    if (proc && is_given_up(proc)) {
        rails_changed(&proc->proc_name, NULL);
    }
}

void rail_give_up(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                  const char *why)
{
    const orte_process_name_t *name = btl_fail(module->btl, endpoint, why);
    if (give_up(name)) {
        log_warn(LOG_PTL, "%s: no more messages by tag: %s", ORTE_NAME_PRINT(name), why);
        rails_changed(name, NULL);
    }
}

/* --- modules --- */

static int finalize(mca_ptl_base_module_t *ptl)
{
    struct rail_module *module = rail_of(ptl);
    struct mca_ptl_base_peer_t *peer;
    (void) module->ext->channel_register(module->btl, RAIL_CHANNEL, NULL, NULL); /* of all */
    rail_link_close();
    list_for_each (peer, &module->peers, struct mca_ptl_base_peer_t, link) {
        peer_destroy(peer);
    }
    rail_forget_sends(module, NULL);
    roster_destroy(module->roster);
    free(module);
    return OPAL_SUCCESS;
}

/* What of put and get the rail may use: pieces of any size, from anywhere. A put of which only the
 * sender's end is known to be over could be overtaken by the word that tells of it. */
static void choose_rdma(struct rail_module *module)
{
    const mca_btl_base_module_t *btl = module->btl;
    const enum rendezvous rendezvous = (enum rendezvous) param_int(&params.rendezvous);
    if (words_have(param_string(&params.send_only), btl_component_name(btl->btl_component))) {
        return;
    }
    module->gets = rendezvous == RENDEZVOUS_GET && (btl->btl_flags & MCA_BTL_FLAGS_GET) &&
                   btl->btl_get_alignment <= 1;
    module->puts = rendezvous != RENDEZVOUS_SEND && (btl->btl_flags & MCA_BTL_FLAGS_PUT) &&
                   btl->btl_put_alignment <= 1 && (module->ext->flags & KEEL_BTL_REMOTE_COMPLETION);
    module->pins = module->ext->flags & KEEL_BTL_PINS;
}

/* Each fetches, if not by gets. */
static uint32_t flags_of(const struct rail_module *module)
{
    return MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET | (module->puts ? MCA_PTL_PUT : 0) |
           (rail.failover ? MCA_PTL_FLAGS_RECOVERS : 0);
}

static struct rail_module *module_create(mca_btl_base_module_t *btl)
{
    struct rail_module *module = calloc(1, sizeof(*module));
    struct roster *roster = roster_create(sizeof(struct mca_ptl_base_peer_t));
    if (!module || !roster) {
        roster_destroy(roster);
        free(module);
        return NULL;
    }
    module->btl = btl;
    module->roster = roster;
    module->ext = keel_btl_ext(btl);
    module->frag_size = btl->btl_max_send_size - RAIL_LONG_BYTES - RAIL_NUMBER_BYTES;
    list_init(&module->peers);
    choose_rdma(module);
    module->super = (struct keel_ptl_module_t){
        .super = {.ptl_component = &ptl_rail_component,
                  .ptl_first_frag_size = least(btl->btl_eager_limit, btl->btl_max_send_size) -
                                         RAIL_LONG_BYTES - RAIL_NUMBER_BYTES,
                  .ptl_min_frag_size = btl->btl_eager_limit,
                  .ptl_max_frag_size = SIZE_MAX,
                  .ptl_exclusivity = btl->btl_exclusivity,
                  .ptl_latency = btl->btl_latency,
                  .ptl_bandwidth = btl->btl_bandwidth,
                  .ptl_flags = flags_of(module),
                  .ptl_add_procs = add_procs,
                  .ptl_del_procs = del_procs,
                  .ptl_finalize = finalize,
                  .ptl_send = rail_ptl_send,
                  .ptl_put = rail_ptl_put,
                  .ptl_get = rail_ptl_get,
                  .ptl_matched = rail_ptl_matched},
        .ptl_send_end = rail_ptl_send_end,
        .ptl_recv_end = rail_ptl_recv_end,
        .ptl_sendi = rail_ptl_sendi,
        .ptl_sender = rail_ptl_sender,
    };
    return module;
}

/* A rail whose messages are smaller than the headers carries none. */
static bool is_usable(mca_btl_base_module_t *btl)
{
    return keel_btl_ext(btl) && (btl->btl_flags & MCA_BTL_FLAGS_SEND) &&
           btl->btl_eager_limit >= RAIL_MOST_BYTES + RAIL_NUMBER_BYTES &&
           btl->btl_max_send_size >= RAIL_MOST_BYTES + RAIL_NUMBER_BYTES;
}

static mca_ptl_base_module_t **init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    size_t btl_count = 0;
    mca_btl_base_module_t **btls = btl_modules(&btl_count);
    *count = 0;
    if (rail.modules || btl_count == 0) {
        return NULL;
    }
    mca_ptl_base_module_t **made = calloc(btl_count, sizeof(mca_ptl_base_module_t *));
    rail.modules = calloc(btl_count, sizeof(struct rail_module *));
    for (size_t i = 0; made && rail.modules && i < btl_count; i++) {
        struct rail_module *module = is_usable(btls[i]) ? module_create(btls[i]) : NULL;
        if (module) {
            module->number = (unsigned) rail.count;
            rail.modules[rail.count++] = module;
            made[(*count)++] = &module->super.super;
        }
    }
    for (size_t i = 0; i < rail.count; i++) {
        struct rail_module *module = rail.modules[i];
        (void) module->ext->channel_register(module->btl, RAIL_CHANNEL, rail_arrived, NULL);
    }
    return made;
}

/* --- the component --- */

static int open_component(void)
{
    uint32_t first;
    crypto_random(&first, sizeof(first));
    rail.answers_most = (size_t) param_int(&params.answers_size);
    rail.registered_most = (size_t) param_int(&params.registered_size);
    rail.failover = param_bool(&params.failover);
    rail.given_up = roster_create(1);
    rail.links = roster_create(sizeof(struct rail_link));
    if (!rail.given_up || !rail.links) {
        roster_destroy(rail.given_up);
        roster_destroy(rail.links);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    ids_init(&rail.sends, first);
    ids_init(&rail.recvs, first);
    list_init(&rail.all_sends);
    list_init(&rail.all_recvs);
    rail_say_open();
    rail_link_open();
    rail_recv_open();
    return keel_host_rails_watch(rails_changed, NULL);
}

static int close_component(void)
{
    rail_link_close();
    rail_recv_close();
    rail_say_close();
    ids_fini(&rail.sends);
    ids_fini(&rail.recvs);
    roster_destroy(rail.given_up);
    roster_destroy(rail.links);
    free(rail.modules);
    rail = (struct rail){0};
    return OPAL_SUCCESS;
}

static int control(int param, void *value, size_t size)
{
    if (param != MCA_PTL_ENABLE || size != sizeof(bool)) {
        return OPAL_ERR_BAD_PARAM;
    }
    rail.disabled = !*(const bool *) value;
    return OPAL_SUCCESS;
}

void ptl_rail_after_pass(const bool *wanted, void (*settle)(void *arg), void *arg)
{
    plane_after_pass(PLANE_AFTER_MESSAGES, wanted, settle, arg);
}

void ptl_rail_forget(void)
{
    rail = (struct rail){0};
}

bool ptl_rail_is_busy(void)
{
    return plane_is_inside();
}

bool ptl_rail_rest(void (*rest)(void *arg, uint64_t until_us, struct pollfd *watch, size_t count),
                   void *arg, uint64_t until_us)
{
    return plane_rest(rest, arg, until_us);
}

bool ptl_rail_is_shared(void)
{
    return btl_threads().multiple;
}

bool ptl_rail_has_thread(void)
{
    return btl_threads().progress;
}

void ptl_rail_lock(void)
{
    btl_lock();
}

void ptl_rail_unlock(bool leaves_work)
{
    if (leaves_work) {
        btl_wake_stir();
    }
    btl_unlock();
}

uint64_t ptl_rail_events(void)
{
    return __atomic_load_n(&rail.events, __ATOMIC_RELAXED);
}

/* That the number of events changes is what counts: two threads may lose some. */
static int progress(mca_ptl_tstamp_t now)
{
    (void) now;
    int events = keel_host_progress();
    if (events > 0) {
        __atomic_store_n(&rail.events, ptl_rail_events() + (unsigned) events, __ATOMIC_RELAXED);
    }
    return OPAL_SUCCESS;
}

mca_ptl_base_component_t ptl_rail_component = {
    {MCA_PTL_BASE_VERSION_1_0_0, "rail", OPAL_MAJOR_VERSION, OPAL_MINOR_VERSION,
     OPAL_RELEASE_VERSION, open_component, close_component, NULL, NULL},
    {false},
    init,
    control,
    progress,
};
