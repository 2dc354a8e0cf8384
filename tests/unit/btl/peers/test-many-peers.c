/* A job of many peers, with a synthetic modex: what each costs that is never used, where its caller
 * added it to a module, and where it is left to the choice of rails. */
#include <config.h>

#include <tests/lib/unit.h>

#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <btl/plane/bml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEERS 100000
#define JOB 0x30001
/* Bytes that a peer may cost a module, with the count of how often its caller added it, and the
 * choice of rails with all modules: 48 together. */
#define MODULE_MOST 31
#define CHOICE_MOST 17

static opal_proc_t procs[PEERS];
static opal_proc_t *list[PEERS];
static struct mca_btl_base_endpoint_t *endpoints[PEERS];
static unsigned char card[4096];
static size_t card_size;
static unsigned long asked;
static bool cards_are_here = true;

static const opal_proc_t *host_me(void *host)
{
    (void) host;
    return &procs[0];
}

/* Everybody's card is mine: it says what others say, and leads somewhere. */
static int host_put_card(void *host, const char *key, const void *data, size_t size)
{
    (void) host, (void) key;
    ck_assert_uint_le(size, sizeof(card));
    memcpy(card, data, size);
    card_size = size;
    return OPAL_SUCCESS;
}

static void host_get_card(void *host, const opal_proc_t *peer, const char *key, keel_card_fn done,
                          void *arg)
{
    (void) host, (void) peer, (void) key;
    asked++;
    done(arg, OPAL_SUCCESS, card, card_size);
}

static int host_peek_card(void *host, const opal_proc_t *peer, const char *key, const void **data,
                          size_t *size)
{
    (void) host, (void) peer, (void) key;
    *data = card;
    *size = card_size;
    return cards_are_here ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
}

static int host_pair_key(void *host, const orte_process_name_t *peer, const char *purpose,
                         uint8_t key[32])
{
    (void) host, (void) peer, (void) purpose;
    memset(key, 1, 32);
    return OPAL_SUCCESS;
}

static const char *host_session_dir(void *host)
{
    (void) host;
    return NULL;
}

static const struct keel_host_ops ops = {
    .me = host_me,
    .put_card = host_put_card,
    .get_card = host_get_card,
    .pair_key = host_pair_key,
    .session_dir = host_session_dir,
    .peek_card = host_peek_card,
};

static mca_btl_base_module_t *begin(const char *name)
{
    char reason[256] = "";
    size_t count;
    for (uint32_t i = 0; i < PEERS; i++) {
        procs[i] = (opal_proc_t){.proc_name = {JOB, i}, .local_rank = i, .hostname = "here"};
        list[i] = &procs[i];
        endpoints[i] = (void *) 1;
    }
    ck_assert_int_eq(param_override("btl", name), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("btl_tcp_if_include", "lo"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("btl_usnic_if_include", "lo"), ORTE_SUCCESS);
    ck_assert_msg(btl_open(&ops, NULL, reason, sizeof(reason)) == ORTE_SUCCESS, "%s", reason);
    return btl_modules(&count)[0];
}

static void check_cost(const char *what, long bytes, long most)
{
    printf("# %s: %ld bytes for each of %d peers that are never used\n", what, bytes, PEERS);
#ifndef __SANITIZE_ADDRESS__
    ck_assert_int_le(bytes, most);
#else
    (void) most;
#endif
}

static void add_all(mca_btl_base_module_t *btl, size_t first)
{
    opal_bitmap_t reachable;
    OBJ_CONSTRUCT(&reachable, opal_bitmap_t);
    ck_assert_int_eq(opal_bitmap_init(&reachable, PEERS), OPAL_SUCCESS);
    ck_assert_int_eq(btl->btl_add_procs(btl, PEERS, list, endpoints, &reachable), OPAL_SUCCESS);
    for (int i = 0; i < PEERS; i++) {
        ck_assert_int_eq(endpoints[i] != NULL, (size_t) i >= first);
        ck_assert_int_eq(opal_bitmap_is_set_bit(&reachable, i), endpoints[i] != NULL);
    }
    OBJ_DESTRUCT(&reachable);
}

/* Adding asks nobody; a second time gives the same; deleting leaves nothing. */
static void one_module(const char *name, size_t first, bool here)
{
    mca_btl_base_module_t *btl = begin(name);
    cards_are_here = here;
    long before = unit_resident_bytes();
    add_all(btl, first);
    char what[64];
    snprintf(what, sizeof(what), "%s, cards %s", name, here ? "here" : "not asked for yet");
    check_cost(what, (unit_resident_bytes() - before) / PEERS, MODULE_MOST);
    ck_assert_uint_eq(asked, 0);
    struct mca_btl_base_endpoint_t *some = endpoints[PEERS / 2], *last = endpoints[PEERS - 1];
    add_all(btl, first);
    ck_assert(endpoints[PEERS / 2] == some && endpoints[PEERS - 1] == last);
    for (int i = 0; i < 100; i++) {
        btl_progress();
    }
    btl->btl_dump(btl, NULL, 1);
    ck_assert_int_eq(btl->btl_del_procs(btl, PEERS, list, endpoints), OPAL_SUCCESS);
    add_all(btl, first);
    ck_assert_uint_eq(asked, 0);
    btl_close();
}

UNIT_LOOP(sm_peers_cost_little, 0, 2)
{
    one_module("sm", 1, _i == 0);
}
END_TEST

UNIT_LOOP(tcp_peers_cost_little, 0, 2)
{
    one_module("tcp", 0, _i == 0);
}
END_TEST

#ifdef HAVE_FABRIC
UNIT_LOOP(ofi_peers_cost_little, 0, 6)
{
    static const char *const providers[] = {"tcp;ofi_rxm", "shm", "udp;ofi_rxd"};
    ck_assert_int_eq(param_override("btl_ofi_provider", providers[_i / 2]), ORTE_SUCCESS);
    one_module("ofi", 0, _i % 2 == 0);
}
END_TEST

UNIT_LOOP(usnic_peers_cost_little, 0, 2)
{
    one_module("usnic", 0, _i == 0);
}
END_TEST

#endif

UNIT_LOOP(rails_cost_little, 0, 2)
{
    static const char *const names[] = {"sm", "tcp"};
    char reason[256];
    struct bml *bml;
    begin(names[_i]);
    ck_assert_int_eq(bml_create(&bml), ORTE_SUCCESS);
    long before = unit_resident_bytes();
    /* Myself is reached by self alone, which is not open where sm is. */
    opal_proc_t **others = list + (_i == 0);
    ck_assert_int_eq(bml_add_procs(bml, others, PEERS - (_i == 0), reason, sizeof(reason)),
                     ORTE_SUCCESS);
    char what[64];
    snprintf(what, sizeof(what), "%s and the choice of rails", names[_i]);
    check_cost(what, (unit_resident_bytes() - before) / PEERS, CHOICE_MOST);
    size_t count;
    ck_assert_ptr_nonnull(bml_rails(bml, &procs[PEERS - 1], &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(asked, 0);
    bml_destroy(bml);
    btl_close();
}
END_TEST

int main(void)
{
    return unit_run("many-peers", 60);
}
