/* Tests over BTL 2.0, on the rail of the pair. The adapter's cost is their difference to am_lat,
 * put_lat and put_bw. Messages go by btl_sendi; all puts are of one descriptor. */
#include <config.h>

#include <keel/btl2.h>
#include <string.h>
#include <tools/perf/test.h>

enum { THERE = WAKE + 1, BACK, WINDOW }; /* tags */
enum { MESSAGE_BYTES = 8 };

static struct {
    mca_btl2_base_module_t *btl; /* NULL: there is none */
    struct mca_btl2_base_endpoint_t *endpoint;
    unsigned owed, echoes;
    mca_btl2_base_segment_t window; /* the last that came, of the other end's memory */
    unsigned windows, done;         /* how many came; how many tests of puts have ended */
} state;

/* --- messages --- */

static void take(mca_btl2_base_module_t *btl, mca_btl2_base_tag_t tag,
                 mca_btl2_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl;
    struct pair *pair = cbdata;
    const mca_btl2_base_segment_t *segment = &descriptor->des_dst[0];
    if (tag == WINDOW) {
        memcpy(&state.window, segment->seg_addr.pval, sizeof(state.window));
        state.windows++;
        return;
    }
    memcpy(pair->in, segment->seg_addr.pval, segment->seg_len);
    state.owed += tag == THERE;
    state.echoes += tag == BACK;
}

static int send_message(mca_btl2_base_tag_t tag, void *bytes, size_t size)
{
    int status;
    while ((status = state.btl->btl_sendi(state.btl, state.endpoint, NULL, bytes, size, 0,
                                          MCA_BTL2_NO_ORDER, 0, tag, NULL)) ==
               OPAL_ERR_OUT_OF_RESOURCE ||
           status == OPAL_ERR_RESOURCE_BUSY) {
        keel_progress();
    }
    return status;
}

static int drive(struct pair *pair)
{
    int status = pair_drive(pair);
    while (state.owed > 0 && status == OPAL_SUCCESS) {
        state.owed--;
        status = send_message(BACK, pair->out, MESSAGE_BYTES);
    }
    return status;
}

/* --- the module --- */

/* Is it the module of the pair? Its endpoint for the other rank is the pair's then. */
static bool is_the_pairs(mca_btl2_base_module_t *btl, const struct pair *pair)
{
    orte_process_name_t peer = {keel_my_name()->jobid,
                                keel_job_size() > 1 ? 1 - keel_my_name()->vpid : 0};
    struct ompi_proc_t *proc = (struct ompi_proc_t *) keel_proc(&peer);
    struct mca_btl2_base_endpoint_t *endpoint = NULL;
    (void) btl->btl_add_procs(btl, 1, &proc, &endpoint, NULL);
    if ((void *) endpoint == (void *) pair->endpoint) {
        state.btl = btl;
        state.endpoint = endpoint;
        return true;
    }
    if (endpoint) {
        (void) btl->btl_del_procs(btl, 1, &proc, &endpoint);
    }
    return false;
}

void btl2_open(struct pair *pair)
{
    const char *name = pair->btl->btl_component->btl_version.mca_component_name;
    size_t count;
    mca_btl2_base_module_t **modules = keel_btl2_modules(&count);
    state.btl = NULL;
    for (size_t i = 0; i < count && !state.btl; i++) {
        if (strcmp(modules[i]->btl_component->btl_version.mca_component_name, name) == 0 &&
            is_the_pairs(modules[i], pair)) {
            for (unsigned tag = THERE; tag <= WINDOW; tag++) {
                state.btl->btl_register(state.btl, (mca_btl2_base_tag_t) tag, take, pair);
            }
        }
    }
}

const char *needs_btl2(const struct pair *pair)
{
    (void) pair;
    return state.btl ? NULL : "it has no module of BTL 2.0";
}

const char *needs_put2(const struct pair *pair)
{
    const char *refusal = needs_btl2(pair);
    return refusal || state.btl->btl_flags & MCA_BTL2_FLAGS_PUT ? refusal : "it has no put";
}

/* --- there and back --- */

int run_am2(struct pair *pair, size_t size, unsigned count)
{
    int status = OPAL_SUCCESS;
    for (unsigned i = 0; i < count && status == OPAL_SUCCESS; i++) {
        unsigned expected = state.echoes + 1;
        status = send_message(THERE, pair->out, size);
        while (state.echoes != expected && status == OPAL_SUCCESS) {
            status = drive(pair);
        }
    }
    return status;
}

/* Until the other end is done. */
int answer_am2(struct pair *pair, size_t size)
{
    int status = OPAL_SUCCESS;
    (void) size;
    while (status == OPAL_SUCCESS && pair->ends == 0) {
        status = drive(pair);
    }
    pair->ends -= status == OPAL_SUCCESS;
    return status;
}

/* --- puts --- */

static mca_btl2_base_descriptor_t *prepare(unsigned char *memory, size_t size, bool src)
{
    opal_convertor_t data;
    size_t taken = size;
    opal_convertor_prepare(&data, memory, size);
    return (src ? state.btl->btl_prepare_src
                : state.btl->btl_prepare_dst)(state.btl, state.endpoint, NULL, &data,
                                              MCA_BTL2_NO_ORDER, 0, &taken, MCA_BTL2_DES_FLAGS_PUT);
}

/* Opens the memory and sends its segment to the other end. */
int answer_puts2(struct pair *pair, size_t size)
{
    mca_btl2_base_descriptor_t *mine = prepare(pair->in, size, false);
    int status = mine ? send_message(WINDOW, mine->des_dst, sizeof(mine->des_dst[0]))
                      : OPAL_ERR_OUT_OF_RESOURCE;
    if (status == OPAL_SUCCESS) {
        status = answer_am2(pair, size);
    }
    (void) state.btl->btl_free(state.btl, mine);
    return status;
}

int finish_puts2(struct pair *pair)
{
    (void) pair;
    state.done++;
    return OPAL_SUCCESS;
}

static void completed(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                      mca_btl2_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct pair *pair = descriptor->des_cbdata;
    pair->under_way--;
    pair->status = pair->status == 0 && status < 0 ? status : pair->status;
}

static int wait_below(struct pair *pair, unsigned limit)
{
    int status = pair->status;
    while (pair->under_way >= limit && status == OPAL_SUCCESS) {
        status = drive(pair);
    }
    return status;
}

static int start(struct pair *pair, mca_btl2_base_descriptor_t *put)
{
    int status;
    pair->under_way++;
    while ((status = state.btl->btl_put(state.btl, state.endpoint, put)) ==
               OPAL_ERR_OUT_OF_RESOURCE ||
           status == OPAL_ERR_TEMP_OUT_OF_RESOURCE) {
        pair->under_way--;
        status = drive(pair);
        pair->under_way++;
        if (status != OPAL_SUCCESS) {
            break;
        }
    }
    pair->under_way -= status != OPAL_SUCCESS;
    return status;
}

/* Waits for the segment of the other end's memory. A rank alone opens its own. */
static int learn_window(struct pair *pair, size_t size, mca_btl2_base_descriptor_t **mine)
{
    int status = OPAL_SUCCESS;
    if (keel_job_size() == 1) {
        *mine = prepare(pair->in, size, false);
        if (!*mine) {
            return OPAL_ERR_OUT_OF_RESOURCE;
        }
        state.window = (*mine)->des_dst[0];
        state.windows = state.done + 1;
    }
    while (state.windows == state.done && status == OPAL_SUCCESS) {
        status = drive(pair);
    }
    return status;
}

static int run(struct pair *pair, size_t size, unsigned count, unsigned window)
{
    mca_btl2_base_descriptor_t *mine = NULL, *put = prepare(pair->out, size, true);
    int status = put ? learn_window(pair, size, &mine) : OPAL_ERR_OUT_OF_RESOURCE;
    if (put) {
        put->des_dst = &state.window;
        put->des_dst_cnt = 1;
        put->des_cbfunc = completed;
        put->des_cbdata = pair;
    }
    for (unsigned i = 0; i < count && status == OPAL_SUCCESS; i++) {
        status = start(pair, put);
        if (status == OPAL_SUCCESS) {
            status = wait_below(pair, window);
        }
    }
    if (status == OPAL_SUCCESS) {
        status = wait_below(pair, 1);
    }
    (void) state.btl->btl_free(state.btl, put);
    (void) state.btl->btl_free(state.btl, mine);
    return status;
}

int run_put2(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, size, count, 1);
}

int run_puts2(struct pair *pair, size_t size, unsigned count)
{
    return run(pair, size, count, pair->window);
}
