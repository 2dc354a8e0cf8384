/* Rank 1 is killed while rank 0 sends to it over a rail, faster than it reads, and gets from it.
 * Rank 0 must be told: an error with the peer, a callback for each part of what was in flight, and
 * no rail any more. Prints "rank 0: told, N callbacks".
 *
 * bereft ends: rank 1 prints "pid N" and stops reading; rank 0 sends to it, prints "ends N", and
 * ends. */
#include <keel/keel.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 5, LIMIT_S = 20, BYTES = 4000 };

static unsigned long accepted, callbacks, arrived;
static const opal_proc_t *lost;

static void on_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
    (void) btl;
    if (proc && (flags & MCA_BTL_ERROR_FLAGS_NONFATAL) && text && text[0]) {
        lost = proc;
    }
}

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint, (void) descriptor, (void) status;
    callbacks++;
}

static void got(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *address,
                mca_btl_base_registration_handle_t *handle, void *context, void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle, (void) context, (void) data;
    (void) status;
    callbacks++;
}

static void received(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                     mca_btl_base_descriptor_t *descriptor, void *arg)
{
    (void) btl, (void) tag, (void) descriptor, (void) arg;
    arrived++;
}

/* Whether it was taken. */
static bool send_one(const struct keel_rail *rail)
{
    mca_btl_base_module_t *btl = rail->btl;
    mca_btl_base_descriptor_t *descriptor = btl->btl_alloc(btl, rail->endpoint, MCA_BTL_NO_ORDER,
                                                           BYTES, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!descriptor) {
        return false;
    }
    memset(descriptor->des_segments[0].seg_addr.pval, 1, BYTES);
    descriptor->des_cbfunc = sent;
    int status = btl->btl_send(btl, rail->endpoint, descriptor, TAG);
    if (status < 0) {
        btl->btl_free(btl, descriptor);
    }
    accepted += status == OPAL_SUCCESS;
    return status >= 0;
}

/* The peer's memory; there is always a get under way. */
static void get_one(const struct keel_rail *rail, void *card, uint64_t address)
{
    static unsigned char here[BYTES];
    int status = rail->btl->btl_get(rail->btl, rail->endpoint, here, address, NULL,
                                    (mca_btl_base_registration_handle_t *) card, BYTES, 0,
                                    MCA_BTL_NO_ORDER, got, NULL, NULL);
    accepted += status == OPAL_SUCCESS;
}

static int stay(const struct keel_rail *rail, const orte_process_name_t *peer)
{
    void *card = NULL, *address = NULL;
    size_t size, count;
    uint64_t base;
    if (keel_modex_recv(peer, "handle", &card, &size) != ORTE_SUCCESS ||
        keel_modex_recv(peer, "base", &address, &size) != ORTE_SUCCESS || size != sizeof(base)) {
        return 2;
    }
    memcpy(&base, address, sizeof(base));
    free(address);
    for (time_t end = time(NULL) + LIMIT_S; !lost && time(NULL) < end;) {
        send_one(rail);
        get_one(rail, card, base);
        keel_progress();
    }
    for (time_t end = time(NULL) + 2; callbacks < accepted && time(NULL) < end;) {
        keel_progress();
    }
    keel_rails(peer, &count);
    bool told = lost && lost->proc_name.vpid == peer->vpid;
    printf("rank 0: %s, %lu callbacks of %lu, %zu rails\n", told ? "told" : "not told", callbacks,
           accepted, count);
    free(card);
    return told && callbacks == accepted && count == 0 ? 0 : 3;
}

/* Rank 1 takes the first message, and no more. */
static void stop_amid_traffic(const struct keel_rail *rail, bool sends)
{
    for (int sent = 0; sends && sent < 50; sent += send_one(rail)) {
        keel_progress();
    }
    while (!sends && arrived == 0) {
        keel_progress();
    }
    printf("%s %d\n", sends ? "ends" : "pid", (int) getpid());
    fflush(stdout);
    while (!sends) {
        pause();
    }
}

int main(int argc, char **argv)
{
    static unsigned char memory[BYTES];
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    orte_process_name_t me = *keel_my_name(), peer = {me.jobid, 1 - me.vpid};
    size_t count;
    const struct keel_rail *rail = keel_rails(&peer, &count);
    mca_btl_base_module_t *btl = rail->btl;
    btl->btl_register(btl, TAG, received, NULL);
    btl->btl_register_error(btl, on_error);
    void *handle = btl->btl_register_mem(btl, MCA_BTL_ENDPOINT_ANY, memory, sizeof(memory),
                                         MCA_BTL_REG_FLAG_REMOTE_READ);
    uint64_t base = (uint64_t) (uintptr_t) memory;
    if (!handle ||
        keel_modex_send("handle", handle, btl->btl_registration_handle_size) != ORTE_SUCCESS ||
        keel_modex_send("base", &base, sizeof(base)) != ORTE_SUCCESS ||
        keel_fence() != ORTE_SUCCESS) {
        return 2;
    }
    if (argc > 1 && strcmp(argv[1], "ends") == 0) {
        stop_amid_traffic(rail, me.vpid == 0);
        keel_finalize();
        return 0;
    }
    if (me.vpid == 1) {
        while (arrived < 50) {
            keel_progress();
        }
        raise(SIGKILL);
    }
    int code = stay(rail, &peer);
    keel_finalize();
    return code;
}
