#include <config.h>

#include <btl/modules/tap.h>

struct btl_taps *btl_tapped;

struct btl_taps *btl_taps_find(const mca_btl_base_module_t *module)
{
    struct btl_taps *taps = btl_tapped;
    while (taps && taps->module != module) {
        taps = taps->next;
    }
    return taps;
}

/* ---- out of a struct btl_call, into the module's own functions ---- */

static int make_send(const struct btl_taps *taps, const struct btl_call *call)
{
    mca_btl_base_module_t *btl = taps->module;
    return call->send.channel == 0
               ? taps->own.btl_send(btl, call->endpoint, call->send.descriptor, call->send.tag)
               : taps->own_ext->channel_send(btl, call->endpoint, call->send.descriptor,
                                             call->send.channel, call->send.tag);
}

static int make_sendi(const struct btl_taps *taps, const struct btl_call *call)
{
    mca_btl_base_module_t *btl = taps->module;
    if (call->sendi.channel == 0) {
        return taps->own.btl_sendi(btl, call->endpoint, call->sendi.convertor, call->sendi.header,
                                   call->sendi.header_size, call->sendi.payload_size,
                                   call->sendi.order, call->sendi.flags, call->sendi.tag,
                                   call->sendi.descriptor);
    }
    return taps->own_ext->channel_sendi(
        btl, call->endpoint, call->sendi.convertor, call->sendi.header, call->sendi.header_size,
        call->sendi.payload_size, call->sendi.order, call->sendi.flags, call->sendi.channel,
        call->sendi.tag, call->sendi.descriptor);
}

static int make_control(const mca_btl_base_module_t *own, mca_btl_base_module_t *btl,
                        const struct btl_call *call)
{
    switch (call->slot) {
    case BTL_ADD_PROCS:
        return own->btl_add_procs(btl, call->procs.count, call->procs.procs, call->procs.endpoints,
                                  call->procs.reachable);
    case BTL_DEL_PROCS:
        return own->btl_del_procs(btl, call->procs.count, call->procs.procs, call->procs.endpoints);
    case BTL_REGISTER:
        return own->btl_register(btl, call->receiver.at, call->receiver.cbfunc,
                                 call->receiver.cbdata);
    case BTL_REGISTER_ERROR:
        return own->btl_register_error(btl, call->error);
    case BTL_DUMP:
        own->btl_dump(btl, call->endpoint, call->verbose);
        return OPAL_SUCCESS;
    default:
        return own->btl_finalize(btl);
    }
}

static int make_ext(const struct keel_btl_ext *own, mca_btl_base_module_t *btl,
                    const struct btl_call *call)
{
    switch (call->slot) {
    case BTL_FLUSH:
        return own->flush(btl, call->endpoint);
    case BTL_PENDING_ADD:
        return own->pending_add(btl, call->endpoint, call->pending);
    case BTL_PENDING_REMOVE:
        return own->pending_remove(btl, call->pending);
    case BTL_WAIT_FD:
        return own->wait_fd(btl);
    case BTL_CHANNEL_REGISTER:
        return own->channel_register(btl, call->receiver.at, call->receiver.cbfunc,
                                     call->receiver.cbdata);
    default:
        return own->wait_arm(btl);
    }
}

static void make(struct btl_taps *taps, struct btl_call *call)
{
    const mca_btl_base_module_t *own = &taps->own;
    mca_btl_base_module_t *btl = taps->module;
    switch (call->slot) {
    case BTL_ALLOC:
        call->made = own->btl_alloc(btl, call->endpoint, call->make.order, call->make.size,
                                    call->make.flags);
        return;
    case BTL_PREPARE_SRC:
        call->made =
            own->btl_prepare_src(btl, call->endpoint, call->make.convertor, call->make.order,
                                 call->make.reserve, call->make.taken, call->make.flags);
        return;
    case BTL_REGISTER_MEM:
        call->made = own->btl_register_mem(btl, call->endpoint, call->region.base,
                                           call->region.size, call->region.flags);
        return;
    case BTL_FREE:
        call->status = own->btl_free(btl, call->send.descriptor);
        return;
    case BTL_DEREGISTER_MEM:
        call->status = own->btl_deregister_mem(btl, call->handle);
        return;
    case BTL_SEND:
        call->status = make_send(taps, call);
        return;
    case BTL_SENDI:
        call->status = make_sendi(taps, call);
        return;
    case BTL_PUT:
    case BTL_GET:
    case BTL_ATOMIC_OP:
    case BTL_ATOMIC_FOP:
    case BTL_ATOMIC_CSWAP:
        call->status = btl_make_rdma(btl, call);
        return;
    default:
        call->status = call->slot >= BTL_FLUSH ? make_ext(taps->own_ext, btl, call)
                                               : make_control(own, btl, call);
    }
}

static void pass(struct btl_taps *taps, unsigned place, struct btl_call *call)
{
    while (place < BTL_TAP_PLACES && !taps->at[place]) {
        place++;
    }
    if (place < BTL_TAP_PLACES) {
        taps->at[place]->ops->call(taps->at[place], call);
    } else {
        make(taps, call);
    }
}

void btl_tap_next(const struct btl_tap *tap, struct btl_call *call)
{
    pass(tap->taps, tap->ops->place + 1, call);
}

int btl_tap_first(const mca_btl_base_module_t *module, struct btl_call *call)
{
    call->status = OPAL_ERR_OUT_OF_RESOURCE;
    pass(btl_taps_find(module), 0, call);
    return call->status;
}

/* ---- which taps stand before a module ---- */

/* The functions that taps see; all else in a table is data, which the module may change. */
static void take_functions(mca_btl_base_module_t *to, const mca_btl_base_module_t *from)
{
    to->btl_add_procs = from->btl_add_procs;
    to->btl_del_procs = from->btl_del_procs;
    to->btl_register = from->btl_register;
    to->btl_finalize = from->btl_finalize;
    to->btl_alloc = from->btl_alloc;
    to->btl_free = from->btl_free;
    to->btl_prepare_src = from->btl_prepare_src;
    to->btl_send = from->btl_send;
    to->btl_sendi = from->btl_sendi;
    to->btl_dump = from->btl_dump;
    to->btl_register_mem = to->btl_register_mem ? from->btl_register_mem : NULL;
    to->btl_deregister_mem = to->btl_deregister_mem ? from->btl_deregister_mem : NULL;
    to->btl_register_error = from->btl_register_error;
}

static bool is_tapped(const struct btl_taps *taps)
{
    bool any = false;
    for (unsigned i = 0; i < BTL_TAP_PLACES; i++) {
        any = any || taps->at[i];
    }
    return any;
}

static void list_out(const struct btl_taps *taps)
{
    struct btl_taps **at = &btl_tapped;
    while (*at && *at != taps) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = taps->next;
    }
}

void btl_taps_fini(struct btl_taps *taps)
{
    list_out(taps);
    for (unsigned i = 0; i < BTL_TAP_PLACES; i++) {
        struct btl_tap *tap = taps->at[i];
        taps->at[i] = NULL;
        if (tap && tap->ops->destroy) {
            tap->ops->destroy(tap);
        }
    }
}

void btl_tap_add(struct btl_taps *taps, struct btl_tap *tap)
{
    if (!is_tapped(taps)) {
        taps->own = *taps->module;
        take_functions(taps->module, taps->packing);
        taps->next = btl_tapped;
        btl_tapped = taps;
    }
    tap->taps = taps;
    taps->at[tap->ops->place] = tap;
}

void btl_tap_remove(struct btl_tap *tap)
{
    struct btl_taps *taps = tap->taps;
    taps->at[tap->ops->place] = NULL;
    if (!is_tapped(taps)) {
        take_functions(taps->module, &taps->own);
        list_out(taps);
    }
}

/* A hold alone, which comes and goes, takes no part in the extension: callers keep what they were
 * given. */
const struct keel_btl_ext *btl_taps_ext(const mca_btl_base_module_t *module)
{
    const struct btl_taps *taps = btl_taps_of(module);
    bool stands = false;
    for (unsigned i = 0; taps && i < BTL_TAP_PLACES; i++) {
        stands = stands || (i != BTL_TAP_HOLD && taps->at[i]);
    }
    return stands && taps->own_ext ? &taps->ext : NULL;
}

/* ---- for ft_event and progress ---- */

bool btl_taps_quiet(const struct btl_taps *taps)
{
    bool quiet = true;
    for (unsigned i = 0; i < BTL_TAP_PLACES; i++) {
        const struct btl_tap *tap = taps->at[i];
        quiet = quiet && (!tap || !tap->ops->is_quiet || tap->ops->is_quiet(tap));
    }
    return quiet;
}

void btl_taps_end(struct btl_taps *taps)
{
    for (unsigned i = BTL_TAP_PLACES; i-- > 0;) {
        struct btl_tap *tap = taps->at[i];
        if (tap && tap->ops->end) {
            tap->ops->end(tap);
        }
    }
}

void btl_taps_drained(struct btl_taps *taps)
{
    for (unsigned i = BTL_TAP_PLACES; i-- > 0;) {
        struct btl_tap *tap = taps->at[i];
        if (tap && tap->ops->drained) {
            tap->ops->drained(tap);
        }
    }
}

int btl_taps_progress(void)
{
    int events = 0;
    for (struct btl_taps *taps = btl_tapped; taps; taps = taps->next) {
        struct btl_tap *tap = taps->at[BTL_TAP_FAULT];
        events += tap && tap->ops->progress ? tap->ops->progress(tap) : 0;
    }
    return events;
}

bool btl_taps_keep(void)
{
    bool any = false;
    for (const struct btl_taps *taps = btl_tapped; taps; taps = taps->next) {
        any = any || (taps->at[BTL_TAP_FAULT] && taps->at[BTL_TAP_FAULT]->ops->progress);
    }
    return any;
}
