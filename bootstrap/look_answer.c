#include <config.h>

#include <base/types/name.h>
#include <bootstrap/look_answer.h>
#include <btl/interface/base.h>
#include <keel/btl_ext.h>
#include <pml/process/process.h>
#include <stdio.h>
#include <wireup/look.h>
#include <wireup/proto.h>

enum { ROWS_MAX = 64, NAME_BYTES = 128 };

/* Messages by source and tag first: what waits in the RML there may be a callback's. */
static void tell_wait(const struct rml_look *look, orte_jobid_t job, char *text, size_t size)
{
    char peer[24] = "any rank";
    pml_process_tell(text, size);
    if (text[0] || !look->receives) {
        return;
    }
    if (look->peer.vpid != ORTE_VPID_WILDCARD && look->peer.jobid == job) {
        snprintf(peer, sizeof(peer), "%u", look->peer.vpid);
    }
    bool named = look->peer.jobid == job || look->peer.vpid == ORTE_VPID_WILDCARD;
    snprintf(text, size, "in an RML receive from %s with tag %u",
             named ? peer : ORTE_NAME_PRINT(&look->peer), look->tag);
}

static int put_rml(opal_buffer_t *counters, const struct rml_look *look)
{
    int status = look_pack_counter(counters, "rml_waiting", look->waiting);
    if (status == OPAL_SUCCESS) {
        status = look_pack_counter(counters, "rml_waiting_bytes", look->waiting_bytes);
    }
    return status == OPAL_SUCCESS ? look_pack_counter(counters, "rml_refused", look->refused)
                                  : status;
}

static int put_pml(opal_buffer_t *counters)
{
    struct keel_pml_stat stats[ROWS_MAX];
    char name[NAME_BYTES];
    int status = OPAL_SUCCESS;
    size_t count = pml_process_stats(stats, ROWS_MAX);
    for (size_t i = 0; i < count && i < ROWS_MAX && status == OPAL_SUCCESS; i++) {
        snprintf(name, sizeof(name), "pml_%s", stats[i].name);
        status = look_pack_counter(counters, name, stats[i].value);
    }
    return status;
}

/* number: of the component's modules, from 1 on. */
static int put_module(opal_buffer_t *counters, mca_btl_base_module_t *module, unsigned number)
{
    struct keel_btl_stat stats[ROWS_MAX];
    char name[NAME_BYTES], which[16] = "";
    int status = OPAL_SUCCESS;
    const mca_base_component_t *version = &module->btl_component->btl_version;
    size_t count = keel_btl_stats(module, NULL, stats, ROWS_MAX);
    if (number > 1) {
        snprintf(which, sizeof(which), "%u", number);
    }
    for (size_t i = 0; i < count && i < ROWS_MAX && status == OPAL_SUCCESS; i++) {
        snprintf(name, sizeof(name), "btl_%s%s_%s", version->mca_component_name, which,
                 stats[i].name);
        status = look_pack_counter(counters, name, stats[i].value);
    }
    return status;
}

static int put_counters(opal_buffer_t *counters, const struct rml_look *look)
{
    size_t count;
    mca_btl_base_module_t **modules = btl_modules(&count);
    int status = put_rml(counters, look);
    if (status == OPAL_SUCCESS) {
        status = put_pml(counters);
    }
    for (size_t i = 0; i < count && status == OPAL_SUCCESS; i++) {
        unsigned number = 1;
        for (size_t j = 0; j < i; j++) {
            number += modules[j]->btl_component == modules[i]->btl_component;
        }
        status = put_module(counters, modules[i], number);
    }
    return status;
}

opal_buffer_t *look_answer(struct rml *rml, orte_jobid_t job, uint32_t number)
{
    char wait[128] = "";
    struct rml_look look;
    opal_buffer_t *counters = OBJ_NEW(opal_buffer_t), *answer = NULL;
    rml_look(rml, &look);
    tell_wait(&look, job, wait, sizeof(wait));
    counters = proto_whole(counters, counters ? put_counters(counters, &look) : OPAL_SUCCESS);
    if (counters) {
        answer =
            proto_new(SERVER_LOOK, "usb", number, wait, counters->base_ptr, counters->bytes_used);
        OBJ_RELEASE(counters);
    }
    return answer;
}
