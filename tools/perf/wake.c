/* The test of processes that sleep: a message goes to and fro between two progress threads, which
 * send it back from its callback. Both programs wait without a poll, so each trip wakes a thread
 * that sleeps in the kernel. */
#include <config.h>

#include <errno.h>
#include <semaphore.h>
#include <tools/perf/test.h>

enum { WAKE_BYTES = 8 };

/* Of this process. From the first message on the callbacks', until they post. */
static struct {
    struct pair *pair;
    bool asks;     /* counts the messages that come back */
    unsigned left; /* of them */
    int status;    /* why there is no next one */
    struct keel_btl_pending room;
    sem_t over;
} wake;

static void end(int status)
{
    wake.status = status;
    sem_post(&wake.over);
}

static void try_again(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      struct keel_btl_pending *pending, int status);

static void send_one(void)
{
    struct pair *pair = wake.pair;
    int status = pair->btl->btl_sendi(pair->btl, pair->endpoint, NULL, pair->out, WAKE_BYTES, 0,
                                      MCA_BTL_NO_ORDER, 0, WAKE, NULL);
    if (status == OPAL_ERR_OUT_OF_RESOURCE || status == OPAL_ERR_TEMP_OUT_OF_RESOURCE) {
        wake.room.ready = try_again;
        status = keel_btl_ext(pair->btl)->pending_add(pair->btl, pair->endpoint, &wake.room);
    }
    if (status < 0) {
        end(status);
    }
}

static void try_again(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      struct keel_btl_pending *pending, int status)
{
    (void) btl, (void) endpoint, (void) pending;
    if (status == OPAL_SUCCESS) {
        send_one();
    } else {
        end(status);
    }
}

static void came(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor, (void) cbdata;
    if (wake.asks && --wake.left == 0) {
        end(OPAL_SUCCESS);
    } else {
        send_one();
    }
}

void wake_open(struct pair *pair)
{
    wake.pair = pair;
    wake.asks = keel_my_name()->vpid == 0;
    sem_init(&wake.over, 0, 0);
    pair->btl->btl_register(pair->btl, WAKE, came, NULL);
}

const char *needs_two(const struct pair *pair)
{
    (void) pair;
    return keel_job_size() > 1 ? NULL : "there is nobody else to be woken";
}

int run_wake(struct pair *pair, size_t size, unsigned count)
{
    (void) pair, (void) size;
    wake.left = count;
    send_one();
    while (sem_wait(&wake.over) < 0 && errno == EINTR) {
    }
    return wake.status;
}
