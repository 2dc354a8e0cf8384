#include <config.h>

#include <base/clock.h>
#include <base/log.h>
#include <base/name.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_receive.h>
#include <btl/ofi/ofi_send.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_PAUSE_US = 10000, /* between hellos; then twice as long each time */
    LAST_PAUSE_US = 1000000,
    ERROR_PAUSE_US = 50000,
    ERRORS_MAX = 20, /* of hellos that the provider could not deliver, in a row */
};

/* What the host's answer is delivered to; outlives a peer that is closed meanwhile. */
struct ofi_card_request {
    struct ofi_module *ofi;
    struct ofi_peer *peer; /* NULL: closed */
};

const char *const ofi_state_names[] = {"idle", "card", "greeting", "up", "broken", "leaving"};

static void set_state(struct ofi_peer *peer, enum ofi_state state)
{
    if (peer->state != state) {
        log_debug(LOG_BTL, "ofi: %s: %s -> %s", ORTE_NAME_PRINT(&peer->endpoint->name),
                  ofi_state_names[peer->state], ofi_state_names[state]);
    }
    peer->state = state;
}

/* ---- endpoints ---- */

static struct list *bucket_of(struct ofi_module *ofi, const orte_process_name_t *name)
{
    return &ofi->by_name[name->vpid % OFI_NAME_BUCKETS];
}

ofi_endpoint *ofi_endpoint_find(struct ofi_module *ofi, const orte_process_name_t *name)
{
    ofi_endpoint *endpoint;

    list_for_each (endpoint, bucket_of(ofi, name), ofi_endpoint, by_name) {
        if (name_equal(&endpoint->name, name)) {
            return endpoint;
        }
    }
    return NULL;
}

static ofi_endpoint *endpoint_create(struct ofi_module *ofi, const orte_process_name_t *name)
{
    ofi_endpoint *endpoint = calloc(1, sizeof(*endpoint));

    if (endpoint) {
        endpoint->name = *name;
        list_init(&endpoint->by_name);
        list_append(bucket_of(ofi, name), &endpoint->by_name);
    }
    return endpoint;
}

/* ---- peers ---- */

/* Later than any epoch of this or an earlier life of the process. */
static uint64_t new_epoch(struct ofi_module *ofi)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t epoch = (uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u;
    ofi->last_epoch = epoch > ofi->last_epoch ? epoch : ofi->last_epoch + 1;
    return ofi->last_epoch;
}

/* A place in the table of peers. */
static bool index_take(struct ofi_module *ofi, struct ofi_peer *peer)
{
    uint32_t index = 0;

    if (ofi->peer_count == ofi->peer_slots) {
        uint32_t slots = ofi->peer_slots ? ofi->peer_slots * 2 : 16;
        struct ofi_peer **peers = realloc(ofi->peers, slots * sizeof(struct ofi_peer *));
        if (!peers) {
            return false;
        }
        memset(peers + ofi->peer_slots, 0, (slots - ofi->peer_slots) * sizeof(*peers));
        index = ofi->peer_slots;
        ofi->peers = peers;
        ofi->peer_slots = slots;
    }
    while (ofi->peers[index]) {
        index++;
    }
    ofi->peers[index] = peer;
    ofi->peer_count++;
    peer->index = index;
    return true;
}

/* No session: nothing that comes proves anything. */
static void session_clear(struct ofi_module *ofi, struct ofi_peer *peer)
{
    if (peer->their_epoch > peer->floor) {
        peer->floor = peer->their_epoch;
    }
    peer->epoch = peer->their_epoch = peer->told_epoch = 0;
    peer->heard = false;
    crypto_random(&peer->their_token, sizeof(peer->their_token));
    peer->sequence = peer->expected = 0;
    peer->bye_said = peer->bye_answered = false;
    list_remove(&peer->waiting);
    ofi_receive_drop(ofi, &peer->held);
}

static struct ofi_peer *peer_create(struct ofi_module *ofi, ofi_endpoint *endpoint)
{
    struct ofi_peer *peer = calloc(1, sizeof(*peer));

    if (!peer) {
        return NULL;
    }
    peer->endpoint = endpoint;
    list_init(&peer->held);
    list_init(&peer->flight);
    list_init(&peer->waiting);
    rdma_am_peer_init(&peer->am, endpoint);
    if (!index_take(ofi, peer)) {
        free(peer);
        return NULL;
    }
    session_clear(ofi, peer);
    endpoint->peer = peer;
    return peer;
}

static void peer_free(struct ofi_module *ofi, struct ofi_peer *peer)
{
    session_clear(ofi, peer);
    if (peer->request) {
        peer->request->peer = NULL;
    }
    /* What the provider still tries to send needs its address. */
    if (peer->known && !peer->abandoned) {
        fi_av_remove(ofi->fabric.av, &peer->address, 1, 0);
    }
    ofi->peers[peer->index] = NULL;
    ofi->peer_count--;
    free(peer);
}

static bool in_flight(const struct ofi_peer *peer)
{
    return !list_empty(&peer->flight) || rdma_am_peer_active(&peer->am);
}

/* Something in flight that need not be waited for; NULL: there is nothing. */
static struct ofi_tx *flight_next(const struct ofi_module *ofi, struct ofi_peer *peer)
{
    struct ofi_tx *tx;

    list_for_each (tx, &peer->flight, struct ofi_tx, link) {
        if (!ofi_native_is_exposed(ofi, tx)) {
            return tx;
        }
    }
    return NULL;
}

/* Everything in flight calls back, but for what the provider may still write to the memory of. That
 * calls back when the provider is done with it, or its own time is over. */
static void flight_fail(struct ofi_module *ofi, struct ofi_peer *peer, int status)
{
    struct ofi_tx *tx;

    rdma_am_cancel(ofi->am, &peer->am, status);
    while ((tx = flight_next(ofi, peer))) {
        peer->abandoned = true;
        ofi_send_abandon(ofi, tx, status);
    }
}

void ofi_peer_break(struct ofi_module *ofi, struct ofi_peer *peer, int status, const char *why)
{
    if (peer->state == OFI_BROKEN || peer->state == OFI_LEAVING) {
        return;
    }
    if (peer->state == OFI_UP) {
        (void) ofi_send_control(ofi, peer,
                                OFI_BYE); /* if it can be told, it need not wait for me */
    }
    set_state(peer, OFI_BROKEN);
    session_clear(ofi, peer);
    flight_fail(ofi, peer, status);
    if (!ofi->closing) {
        btl_report_error(&ofi->super, MCA_BTL_ERROR_FLAGS_NONFATAL, peer->endpoint->proc,
                         "ofi: %s: %s", ORTE_NAME_PRINT(&peer->endpoint->name), why);
    }
}

static void fail_later(struct ofi_module *ofi, struct ofi_peer *peer, const char *why)
{
    if (peer->why || peer->state == OFI_BROKEN || peer->state == OFI_LEAVING) {
        return;
    }
    peer->why = why;
    list_remove(&peer->waiting);
    list_append(&ofi->failed, &peer->waiting);
}

void ofi_peer_fail(struct ofi_module *ofi, struct ofi_peer *peer, int error)
{
    fail_later(ofi, peer, ofi_strerror(&ofi->fabric, error));
}

void ofi_peer_ended(struct ofi_module *ofi, ofi_endpoint *endpoint)
{
    if (endpoint->peer) {
        fail_later(ofi, endpoint->peer, "its process ended");
    }
}

void ofi_shut(struct ofi_module *ofi, const char *why)
{
    log_warn(LOG_BTL, "ofi: provider %s: closed: %s", ofi->card.provider, why);
    ofi_fabric_stop(&ofi->fabric);
    for (uint32_t i = 0; i < ofi->peer_slots; i++) {
        if (ofi->peers[i]) {
            fail_later(ofi, ofi->peers[i], why);
        }
    }
}

int ofi_break_failed(struct ofi_module *ofi)
{
    int events = 0;

    for (struct list *link; (link = list_pop(&ofi->failed)); events++) {
        struct ofi_peer *peer = container_of(link, struct ofi_peer, waiting);
        const char *why = peer->why;
        peer->why = NULL;
        ofi_peer_break(ofi, peer, OPAL_ERR_UNREACH, why);
    }
    return events;
}

/* ---- finding a peer ---- */

static int address_set(struct ofi_module *ofi, struct ofi_peer *peer,
                       const struct ofi_address *address)
{
    if (!ofi_address_check(address, &ofi->card.address)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (peer->known && address->size == peer->at.size &&
        memcmp(address->bytes, peer->at.bytes, address->size) == 0) {
        return OPAL_SUCCESS;
    }
    if (peer->known) { /* it was started anew */
        if (!list_empty(&peer->flight) || peer->abandoned) {
            return OPAL_ERR_RESOURCE_BUSY;
        }
        fi_av_remove(ofi->fabric.av, &peer->address, 1, 0);
        peer->known = false;
    }
    int inserted = fi_av_insert(ofi->fabric.av, address->bytes, 1, &peer->address, 0, NULL);
    if (inserted != 1) {
        return OPAL_ERR_UNREACH;
    }
    peer->known = true;
    peer->at = *address;
    return OPAL_SUCCESS;
}

/* Whether the card is one that I can use. */
static int card_read(struct ofi_module *ofi, struct ofi_card *card, const void *data, size_t size)
{
    int status = ofi_card_decode(card, data, size);

    if (status == OPAL_SUCCESS && strcmp(card->provider, ofi->card.provider) != 0) {
        status = OPAL_ERR_UNREACH;
    }
    if (status == OPAL_SUCCESS) {
        status = ofi_address_check(&card->address, &ofi->card.address) ? OPAL_SUCCESS
                                                                       : OPAL_ERR_BAD_PARAM;
    }
    return status;
}

static void greet_from(struct ofi_module *ofi, struct ofi_peer *peer)
{
    if (peer->epoch == 0) {
        peer->epoch = new_epoch(ofi);
    }
    set_state(peer, OFI_GREETING);
    peer->errors = 0;
    peer->wake_us = 0;
    peer->pause_us = FIRST_PAUSE_US;
    peer->give_up_us = clock_us() + ofi->params.hello_us;
    list_remove(&peer->waiting);
    list_append(&ofi->greeting, &peer->waiting);
}

static void take_card(struct ofi_card_request *request, int status, const void *data, size_t size)
{
    struct ofi_module *ofi = request->ofi;
    struct ofi_peer *peer = request->peer;
    struct ofi_card card;

    free(request);
    if (!peer) {
        return;
    }
    peer->request = NULL;
    if (peer->state != OFI_CARD) {
        return; /* it has come by itself */
    }
    if (status == OPAL_SUCCESS) {
        status = card_read(ofi, &card, data, size);
    }
    if (status == OPAL_SUCCESS) {
        status = address_set(ofi, peer, &card.address);
    }
    if (status == OPAL_SUCCESS) {
        greet_from(ofi, peer);
    } else {
        fail_later(ofi, peer, "it has no card that leads to it");
    }
}

static void card_arrived(void *arg, int status, const void *data, size_t size)
{
    btl_enter();
    take_card(arg, status, data, size);
    btl_leave();
}

/* Looks for the peer, and says hello. */
static int seek(struct ofi_module *ofi, struct ofi_peer *peer)
{
    char key[BTL_CARD_KEY];

    if (peer->known) {
        greet_from(ofi, peer);
        return OPAL_SUCCESS;
    }
    struct ofi_card_request *request = malloc(sizeof(*request));
    if (!request) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *request = (struct ofi_card_request){.ofi = ofi, .peer = peer};
    peer->request = request;
    set_state(peer, OFI_CARD);
    btl_card_key(key, "ofi", ofi->life);
    ofi->host.ops->get_card(ofi->host.arg, peer->endpoint->proc, key, card_arrived, request);
    return OPAL_SUCCESS;
}

struct ofi_peer *ofi_endpoint_want(struct ofi_module *ofi, ofi_endpoint *endpoint, int *status)
{
    struct ofi_peer *peer = endpoint->peer;

    if (peer && peer->state == OFI_UP && !peer->why) {
        return peer;
    }
    *status = ofi->fabric.ep ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_ERR_UNREACH;
    if (!ofi->fabric.ep) {
        return NULL;
    }
    if (!peer) {
        peer = peer_create(ofi, endpoint);
    }
    if (peer && peer->state == OFI_IDLE) {
        (void) seek(ofi, peer);
    } else if (peer && (peer->why || peer->state == OFI_BROKEN || peer->state == OFI_LEAVING)) {
        *status = OPAL_ERR_UNREACH;
    }
    return NULL;
}

/* Whether the peer has a card for me: what is not known yet may be so. */
static bool may_reach(struct ofi_module *ofi, const opal_proc_t *proc)
{
    struct ofi_card card;
    const void *data;
    size_t size;
    char key[BTL_CARD_KEY];

    if (name_equal(&proc->proc_name, &ofi->me)) {
        return true;
    }
    btl_card_key(key, "ofi", ofi->life);
    int status = btl_peek_card(proc, key, &data, &size);
    if (status == OPAL_ERR_NOT_AVAILABLE) {
        return true;
    }
    if (status == OPAL_SUCCESS) {
        status = card_read(ofi, &card, data, size);
    }
    if (status != OPAL_SUCCESS) {
        log_info(LOG_BTL, "ofi: %s has no card that leads to it: %s",
                 ORTE_NAME_PRINT(&proc->proc_name), opal_strerror(status));
    }
    return status == OPAL_SUCCESS;
}

ofi_endpoint *ofi_endpoint_add(struct ofi_module *ofi, opal_proc_t *proc)
{
    ofi_endpoint *endpoint = ofi_endpoint_find(ofi, &proc->proc_name);

    if (endpoint && endpoint->proc) {
        return endpoint->peer && endpoint->peer->state == OFI_BROKEN ? NULL : endpoint;
    }
    if (!ofi->fabric.ep) {
        return NULL;
    }
    if (!endpoint) {
        endpoint = may_reach(ofi, proc) ? endpoint_create(ofi, &proc->proc_name) : NULL;
    }
    if (endpoint) {
        endpoint->proc = proc;
        if (endpoint->peer && endpoint->peer->state == OFI_BROKEN) {
            set_state(endpoint->peer, OFI_IDLE);
        }
    }
    return endpoint;
}

/* ---- hello ---- */

static int hello_send(struct ofi_module *ofi, struct ofi_peer *peer)
{
    struct ofi_hello hello = {
        .index = peer->index,
        .max_message = ofi->card.max_message,
        .from = ofi->me,
        .to = peer->endpoint->name,
        .epoch = peer->epoch,
        .echo = peer->their_epoch,
        .address = ofi->card.address,
    };
    uint8_t key[KEY_BYTES], bytes[OFI_HELLO_MAX];
    int status = ofi->host.ops->pair_key(ofi->host.arg, &hello.to, "btl.ofi", key);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    size_t size = ofi_hello_encode(bytes, &hello, key);
    crypto_wipe(key, sizeof(key));
    status = ofi_send_bytes(ofi, peer, bytes, size);
    if (status == OPAL_SUCCESS) {
        peer->told_epoch = peer->their_epoch;
    }
    return status;
}

/* Sends a hello whose time has come, and says when the next one's will. */
static void hello_due(struct ofi_module *ofi, struct ofi_peer *peer, uint64_t now_us)
{
    if (now_us >= peer->give_up_us) {
        fail_later(ofi, peer, "no answer to my hello in time");
        return;
    }
    int status = hello_send(ofi, peer);
    if (status == OPAL_ERR_OUT_OF_RESOURCE) {
        return; /* on the next pass */
    }
    if (status != OPAL_SUCCESS) {
        fail_later(ofi, peer, "my hello cannot be sent");
    } else if (peer->state == OFI_UP) {
        list_remove(&peer->waiting);
    } else {
        peer->wake_us = now_us + peer->pause_us;
        peer->pause_us = peer->pause_us * 2 < LAST_PAUSE_US ? peer->pause_us * 2 : LAST_PAUSE_US;
    }
}

int ofi_greet(struct ofi_module *ofi)
{
    struct ofi_peer *peer;
    int events = 0;

    if (list_empty(&ofi->greeting)) {
        return 0;
    }
    uint64_t now_us = clock_us();
    list_for_each (peer, &ofi->greeting, struct ofi_peer, waiting) {
        if (now_us >= peer->wake_us) {
            hello_due(ofi, peer, now_us);
            events++;
        }
    }
    return events;
}

void ofi_control_failed(struct ofi_module *ofi, struct ofi_peer *peer, int error)
{
    if (peer->state == OFI_GREETING && ++peer->errors < ERRORS_MAX) {
        peer->wake_us = clock_us() + ERROR_PAUSE_US;
    } else {
        ofi_peer_fail(ofi, peer, error);
    }
}

struct ofi_peer *ofi_peer_of(struct ofi_module *ofi, const struct ofi_header *header)
{
    struct ofi_peer *peer = header->index < ofi->peer_slots ? ofi->peers[header->index] : NULL;

    return peer && peer->their_epoch != 0 && peer->their_token == header->token ? peer : NULL;
}

/* A hello that proves its key: its endpoint, made where there was none. */
static ofi_endpoint *hello_endpoint(struct ofi_module *ofi, const struct ofi_hello *hello,
                                    const uint8_t *data, size_t size, uint8_t key[KEY_BYTES])
{
    if (!name_equal(&hello->to, &ofi->me) ||
        ofi->host.ops->pair_key(ofi->host.arg, &hello->from, "btl.ofi", key) != OPAL_SUCCESS ||
        ofi_hello_check(data, size, key) != OPAL_SUCCESS) {
        return NULL;
    }
    ofi_endpoint *endpoint = ofi_endpoint_find(ofi, &hello->from);
    if (!endpoint && !ofi->closing) {
        endpoint = endpoint_create(ofi, &hello->from);
    }
    if (endpoint && !endpoint->peer && (ofi->closing || !peer_create(ofi, endpoint))) {
        return NULL;
    }
    return endpoint;
}

/* Begins a session with an epoch of theirs that is new to me. */
static bool session_begin(struct ofi_module *ofi, struct ofi_peer *peer,
                          const struct ofi_hello *hello, const uint8_t key[KEY_BYTES])
{
    const orte_process_name_t *me = &ofi->me, *them = &hello->from;

    if (peer->their_epoch != 0) {
        if (in_flight(peer)) {
            ofi_peer_break(ofi, peer, OPAL_ERR_UNREACH, "it began anew");
            return false;
        }
        session_clear(ofi, peer);
    }
    if (peer->epoch == 0) {
        peer->epoch = new_epoch(ofi);
    }
    peer->their_epoch = hello->epoch;
    peer->their_index = hello->index;
    peer->max_message = hello->max_message;
    peer->token = ofi_token(key, me, them, peer->epoch, hello->epoch);
    peer->their_token = ofi_token(key, them, me, hello->epoch, peer->epoch);
    return true;
}

static void hello_take(struct ofi_module *ofi, struct ofi_peer *peer, const struct ofi_hello *hello,
                       const uint8_t key[KEY_BYTES])
{
    if (peer->state == OFI_BROKEN && !peer->endpoint->proc) {
        set_state(peer, OFI_IDLE);
    }
    if (peer->why || peer->state == OFI_BROKEN || peer->state == OFI_LEAVING ||
        hello->epoch < peer->their_epoch || hello->epoch <= peer->floor) {
        return;
    }
    if (address_set(ofi, peer, &hello->address) != OPAL_SUCCESS) {
        log_info(LOG_BTL, "ofi: %s: a hello with an address that is none",
                 ORTE_NAME_PRINT(&hello->from));
        return;
    }
    if (hello->epoch > peer->their_epoch && !session_begin(ofi, peer, hello, key)) {
        return;
    }
    if (peer->max_message < ofi->card.max_message) {
        fail_later(ofi, peer, "its btl_ofi_max_send_size is below mine");
        return;
    }
    bool owed = peer->told_epoch != peer->their_epoch || hello->echo != peer->epoch;
    if (peer->state == OFI_IDLE || peer->state == OFI_CARD) {
        greet_from(ofi, peer);
    }
    if (hello->echo == peer->epoch && peer->state == OFI_GREETING) {
        peer->heard = true;
        set_state(peer, OFI_UP);
        list_remove(&peer->waiting);
    }
    if (owed) {
        peer->wake_us = 0;
        peer->give_up_us = clock_us() + ofi->params.hello_us;
        list_remove(&peer->waiting);
        list_append(&ofi->greeting, &peer->waiting);
    }
}

void ofi_hello_received(struct ofi_module *ofi, const uint8_t *data, size_t size)
{
    struct ofi_hello hello;
    uint8_t key[KEY_BYTES];
    ofi_endpoint *endpoint = NULL;

    if (ofi_hello_decode(&hello, data, size) == OPAL_SUCCESS) {
        hello.address.format = ofi->card.address.format;
        endpoint = hello_endpoint(ofi, &hello, data, size, key);
    }
    if (endpoint && endpoint->peer) {
        hello_take(ofi, endpoint->peer, &hello, key);
    } else {
        ofi->dropped++;
        unsigned held = 0;
        if (log_rate_ok("ofi hello", &held)) {
            log_info(LOG_BTL, "ofi: dropped a hello that proves nothing (%u more)", held);
        }
    }
    crypto_wipe(key, sizeof(key));
}

/* ---- bye ---- */

void ofi_bye_received(struct ofi_module *ofi, struct ofi_peer *peer)
{
    (void) ofi_send_control(ofi, peer, OFI_BYE_ACK); /* without it they wait a little */
    if (peer->state == OFI_LEAVING) {
        peer->bye_answered = true;
        return;
    }
    bool operations = rdma_am_peer_active(&peer->am);
    struct ofi_tx *tx;
    list_for_each (tx, &peer->flight, struct ofi_tx, link) {
        operations = operations || tx->op.kind != OFI_OP_CONTROL;
    }
    if (operations) {
        ofi_peer_break(ofi, peer, OPAL_ERR_UNREACH, "the peer left");
    } else {
        session_clear(ofi, peer);
        set_state(peer, OFI_IDLE);
    }
}

struct closing {
    struct ofi_module *ofi;
    ofi_endpoint **endpoints;
    size_t count;
};

static bool all_landed(void *arg)
{
    const struct closing *closing = arg;

    for (size_t i = 0; i < closing->count; i++) {
        const struct ofi_peer *peer = closing->endpoints[i]->peer;
        if (peer && !peer->bye_answered && !list_empty(&peer->flight)) {
            return false;
        }
    }
    return list_empty(&closing->ofi->done);
}

/* My answers to byes are out. */
static bool all_said(void *arg)
{
    const struct closing *closing = arg;
    const struct ofi_tx *tx;

    for (size_t i = 0; i < closing->count; i++) {
        struct ofi_peer *peer = closing->endpoints[i]->peer;
        if (!peer) {
            continue;
        }
        list_for_each (tx, &peer->flight, const struct ofi_tx, link) {
            if (tx->op.kind == OFI_OP_CONTROL) {
                return false;
            }
        }
    }
    return true;
}

/* Says BYE where there is a session, as soon as the provider takes it. */
static bool all_answered(void *arg)
{
    const struct closing *closing = arg;
    bool all = true;

    for (size_t i = 0; i < closing->count; i++) {
        struct ofi_peer *peer = closing->endpoints[i]->peer;
        if (!peer || !peer->heard || peer->bye_answered) {
            continue;
        }
        if (!peer->bye_said) {
            peer->bye_said = ofi_send_control(closing->ofi, peer, OFI_BYE) == OPAL_SUCCESS;
        }
        all = false;
    }
    return all;
}

static void endpoint_leave(struct ofi_module *ofi, ofi_endpoint *endpoint)
{
    struct ofi_peer *peer = endpoint->peer;

    if (!peer) {
        return;
    }
    peer->heard = peer->heard && peer->state == OFI_UP && !peer->why;
    set_state(peer, OFI_LEAVING);
    peer->why = NULL;
    list_remove(&peer->waiting);
    rdma_am_cancel(ofi->am, &peer->am, OPAL_ERR_UNREACH);
}

static void endpoint_end(struct ofi_module *ofi, ofi_endpoint *endpoint)
{
    if (endpoint->peer) {
        if (endpoint->peer->bye_said && !endpoint->peer->bye_answered) {
            log_info(LOG_BTL, "ofi: %s did not answer my bye", ORTE_NAME_PRINT(&endpoint->name));
        }
        flight_fail(ofi, endpoint->peer, OPAL_ERR_UNREACH);
        if (!list_empty(&endpoint->peer->flight)) {
            ofi_shut(ofi, "its provider does not end a get");
            flight_fail(ofi, endpoint->peer, OPAL_ERR_UNREACH);
        }
        btl_pending_end(&ofi->super, endpoint);
        peer_free(ofi, endpoint->peer);
    }
    list_remove(&endpoint->by_name);
    free(endpoint);
}

void ofi_endpoints_close(struct ofi_module *ofi, ofi_endpoint **endpoints, size_t count)
{
    struct closing closing = {ofi, endpoints, count};

    for (size_t i = 0; i < count; i++) {
        endpoint_leave(ofi, endpoints[i]);
    }
    (void) ofi_poll_until(ofi, all_landed, &closing);
    (void) ofi_poll_until(ofi, all_answered, &closing);
    (void) ofi_poll_until(ofi, all_said, &closing);
    (void) ofi_send_finish(ofi);
    for (size_t i = 0; i < count; i++) {
        endpoint_end(ofi, endpoints[i]);
    }
}

/* ---- restart ---- */

void ofi_endpoints_restart(struct ofi_module *ofi)
{
    for (uint32_t i = 0; i < ofi->peer_slots; i++) {
        struct ofi_peer *peer = ofi->peers[i];
        if (!peer) {
            continue;
        }
        ofi_endpoint *endpoint = peer->endpoint;
        set_state(peer, OFI_BROKEN); /* so that callbacks find it shut */
        flight_fail(ofi, peer, OPAL_ERR_UNREACH);
        peer->known = false; /* the address vector ends as a whole */
        endpoint->peer = NULL;
        peer_free(ofi, peer);
        if (!endpoint->proc) {
            list_remove(&endpoint->by_name);
            free(endpoint);
        }
    }
    (void) ofi_send_finish(ofi);
}
