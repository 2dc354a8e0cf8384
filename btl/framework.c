#include <config.h>

#include <base/log.h>
#include <base/param.h>
#include <btl/choice.h>
#include <btl/framework.h>
#include <btl/guard.h>
#include <btl/layer.h>
#include <btl/lock.h>
#include <btl/thread.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An idle component whose polls cost system calls is polled once in this many passes. */
#define LAZY_PASSES 64
/* With btl_yield, this many empty passes in a row come before the first yield. */
#define YIELD_PASSES 64

static struct param btl_param = {
    .name = "btl",
    .type = PARAM_STRING,
    .default_text = "",
    .unit = "",
    .help = "Components of the data plane to open (self,sm), or not to open (^tcp); empty: all but "
            "ofi.",
};

static struct param verbose_param = {
    .name = "btl_base_verbose",
    .type = PARAM_INT,
    .default_text = "0",
    .max = LOG_TRACE,
    .unit = "",
    .help = "Verbosity of the data plane: 1 info, 2 debug, 3 trace.",
};

static struct param yield_param = {
    .name = "btl_yield",
    .type = PARAM_BOOL,
    .default_text = "0",
    .unit = "",
    .help = "Give up the processor after some empty polls; set when ranks outnumber cores.",
};

static struct param thread_multiple_param = {
    .name = "enable_thread_multiple",
    .type = PARAM_BOOL,
    .default_text = "0",
    .unit = "",
    .help = "Let any thread call the data plane at any time, behind one lock.",
};

static struct param progress_threads_param = {
    .name = "enable_progress_threads",
    .type = PARAM_BOOL,
    .default_text = "0",
    .unit = "",
    .help = "Drive the data plane by a thread, which sleeps in the kernel when there is nothing to "
            "do, while the program does not call Keel; callbacks come on it, too.",
};

/* What a pass reads lies together. */
struct open_component {
    int (*progress)(void);
    bool (*active)(void); /* NULL: polled in every pass */
    unsigned idle_passes; /* since its last poll */
    const struct btl_component *entry;
};

/* The framework's state, from btl_open to btl_close. One thread at a time: where several use it, it
 * is guarded by the lock. */
static struct {
    struct btl_host host;
    struct btl_module_entry **entries; /* owned; beside modules */
    mca_btl_base_module_t **modules;
    size_t module_count;
    struct open_component *open; /* owned */
    size_t open_count;
    unsigned empty_passes;
    bool yield;
    bool progressing;
    pthread_t progresser; /* whose progress that is; set where the lock is used */
    void (*after_pass)(void *arg);
    void *after_arg;
    void (*failed)(void *arg, mca_btl_base_module_t *module, opal_proc_t *proc);
    void *failed_arg;
    bool drop_warned;
    uint64_t dropped;
    struct btl_threads threads;
} framework;

static struct btl_threads asked; /* of the next btl_open */

mca_btl_active_message_callback_t mca_btl_base_active_message_trigger[MCA_BTL_TAG_MAX + 1];

static const char *component_name(const mca_btl_base_component_t *component)
{
    return component->btl_version.mca_component_name;
}

static int keep_modules(const struct btl_component *component, mca_btl_base_module_t **made,
                        size_t count)
{
    size_t total = framework.module_count + count;
    struct btl_module_entry **entries =
        realloc(framework.entries, total * sizeof(struct btl_module_entry *));
    if (!entries) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    framework.entries = entries;
    mca_btl_base_module_t **modules = realloc(framework.modules, total * sizeof(*modules));
    if (!modules) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    framework.modules = modules;
    for (size_t i = 0; i < count; i++) {
        struct btl_module_entry *entry = malloc(sizeof(*entry));
        if (!entry) {
            while (i-- > 0) {
                free(entries[--framework.module_count]);
            }
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        *entry = (struct btl_module_entry){.module = made[i], .component = component};
        btl_ext_init(entry);
        entries[framework.module_count] = entry;
        modules[framework.module_count++] = made[i];
    }
    return ORTE_SUCCESS;
}

static void component_close(mca_btl_base_component_t *component)
{
    if (component->btl_version.mca_close_component) {
        component->btl_version.mca_close_component();
    }
}

/* Opens one component and keeps its modules. NOT_AVAILABLE: its transport is not there. */
static int component_open(const struct btl_component *entry)
{
    mca_btl_base_component_t *component = entry->component;
    const mca_base_component_t *version = &component->btl_version;
    int status = version->mca_open_component ? version->mca_open_component() : ORTE_SUCCESS;
    if (status != ORTE_SUCCESS) {
        log_info(LOG_BTL, "%s: not opened: %s", component_name(component), opal_strerror(status));
        return ORTE_ERR_NOT_AVAILABLE;
    }
    int count = 0;
    mca_btl_base_module_t **made =
        component->btl_init(&count, framework.threads.progress, framework.threads.multiple);
    status = made && count > 0 ? keep_modules(entry, made, (size_t) count) : ORTE_ERR_NOT_AVAILABLE;
    if (status == ORTE_SUCCESS) {
        framework.open[framework.open_count++] = (struct open_component){
            .progress = component->btl_progress, .active = entry->active, .entry = entry};
        log_info(LOG_BTL, "%s: %d module%s", component_name(component), count,
                 count == 1 ? "" : "s");
    } else {
        for (int i = 0; made && i < count; i++) {
            made[i]->btl_finalize(made[i]);
        }
        component_close(component);
        log_info(LOG_BTL, "%s: no module: %s", component_name(component), opal_strerror(status));
    }
    free(made);
    return status;
}

static int add_layers(char *reason, size_t reason_size)
{
    int status = ORTE_SUCCESS;
    for (size_t i = 0; i < framework.module_count && status == ORTE_SUCCESS; i++) {
        status = btl_layers_add(framework.entries[i]->module, &framework.modules[i], reason,
                                reason_size);
    }
    return status;
}

void btl_ask_threads(struct btl_threads threads)
{
    asked = threads;
}

struct btl_threads btl_threads(void)
{
    return framework.threads;
}

/* The parameters may ask for more threads than the program does. */
static struct btl_threads take_threads(void)
{
    struct btl_threads threads = asked;
    threads.progress = param_bool(&progress_threads_param) || threads.progress;
    threads.multiple = param_bool(&thread_multiple_param) || threads.multiple || threads.progress;
    asked = (struct btl_threads){0};
    return threads;
}

/* The last part of btl_open, with all modules there. */
static int open_for_threads(char *reason, size_t reason_size)
{
    int status = add_layers(reason, reason_size);
    if (status != ORTE_SUCCESS || !framework.threads.multiple) {
        return status;
    }
    status = btl_guards_add(framework.modules, framework.module_count);
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "out of memory");
        return status;
    }
    btl_lock_used = true;
    return framework.threads.progress ? btl_thread_start(reason, reason_size) : ORTE_SUCCESS;
}

static void register_params(const char *choice)
{
    for (size_t i = 0; btl_components[i]; i++) {
        const struct btl_component *entry = btl_components[i];
        const mca_base_component_t *version = &entry->component->btl_version;
        if (btl_choice_opens(choice, entry) && version->mca_register_component_params) {
            (void) version->mca_register_component_params();
        }
    }
    param_register(&verbose_param);
    param_register(&yield_param);
    btl_ext_register_params();
    btl_ftevent_register_params();
    btl_layers_register_params();
}

/* A value that does not fit is nothing to go on with: the program would run as nobody asked. */
static int check_params(char *reason, size_t reason_size)
{
    param_register(&btl_param);
    int status = param_demand(btl_param.name, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = btl_choice_check(param_string(&btl_param), reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        register_params(param_string(&btl_param));
        status = param_demand(btl_param.name, reason, reason_size);
    }
    return status;
}

int btl_open(const struct keel_host_ops *ops, void *arg, char *reason, size_t reason_size)
{
    framework.threads = take_threads();
    int status = check_params(reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    int64_t verbose = param_int(&verbose_param);
    if (verbose > log_verbosity[LOG_BTL]) {
        log_set_verbosity(LOG_BTL, (int) verbose);
    }
    const char *choice = param_string(&btl_param);
    size_t known = 0;
    while (btl_components[known]) {
        known++;
    }
    framework.open = calloc(known, sizeof(*framework.open));
    if (!framework.open) {
        snprintf(reason, reason_size, "out of memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    framework.host = (struct btl_host){.ops = ops, .arg = arg};
    framework.yield = param_bool(&yield_param);
    for (size_t i = 0; i < known; i++) {
        if (!btl_choice_opens(choice, btl_components[i])) {
            continue;
        }
        status = component_open(btl_components[i]);
        if (status != ORTE_SUCCESS && status != ORTE_ERR_NOT_AVAILABLE) {
            snprintf(reason, reason_size, "btl %s: %s",
                     component_name(btl_components[i]->component), opal_strerror(status));
            btl_close();
            return status;
        }
    }
    if (framework.module_count == 0) {
        snprintf(reason, reason_size,
                 "no component of the data plane could be opened (btl = \"%s\")", choice);
        btl_close();
        return ORTE_ERR_NOT_AVAILABLE;
    }
    status = open_for_threads(reason, reason_size);
    if (status != ORTE_SUCCESS) {
        btl_close();
    }
    return status;
}

void btl_close(void)
{
    btl_thread_stop();
    for (size_t i = framework.module_count; i-- > 0;) {
        mca_btl_base_module_t *module = framework.modules[i];
        framework.entries[i]->closing = true;
        btl_pending_end(module, NULL);
        module->btl_finalize(module);
    }
    for (size_t i = framework.open_count; i-- > 0;) {
        component_close(framework.open[i].entry->component);
    }
    if (framework.dropped > 0) {
        log_info(LOG_BTL, "%llu messages with tags that nobody registered were dropped",
                 (unsigned long long) framework.dropped);
    }
    btl_guards_remove();
    btl_lock_used = false;
    for (size_t i = 0; i < framework.module_count; i++) {
        free(framework.entries[i]);
    }
    free(framework.entries);
    free(framework.modules);
    free(framework.open);
    memset(&framework, 0, sizeof(framework));
    memset(mca_btl_base_active_message_trigger, 0, sizeof(mca_btl_base_active_message_trigger));
}

mca_btl_base_module_t **btl_modules(size_t *count)
{
    *count = framework.module_count;
    return framework.modules;
}

const struct btl_host *btl_host(void)
{
    return &framework.host;
}

int btl_peek_card(const opal_proc_t *peer, const char *key, const void **data, size_t *size)
{
    const struct btl_host *host = btl_host();
    return host->ops->peek_card ? host->ops->peek_card(host->arg, peer, key, data, size)
                                : OPAL_ERR_NOT_AVAILABLE;
}

/* Whether this pass polls a component. Passes that others made busy count too, so that an idle
 * component is never starved. */
static bool is_due(struct open_component *open, bool yielding)
{
    if (!open->active || yielding || open->active() || ++open->idle_passes >= LAZY_PASSES) {
        open->idle_passes = 0;
        return true;
    }
    return false;
}

/* One pass over everything; returns the number of events. */
static inline int poll_all(bool thorough)
{
    int events = 0;
    struct open_component *end = framework.open + framework.open_count;
    for (struct open_component *open = framework.open; open < end; open++) {
        if (is_due(open, thorough)) {
            events += open->progress();
        }
    }
    events += btl_layers ? btl_layers_progress() : 0;
    if (btl_pending_count > 0) {
        events += btl_pending_call();
    }
    return events;
}

static bool is_yielding(void)
{
    return framework.yield && framework.empty_passes >= YIELD_PASSES;
}

static void count_pass(int events)
{
    framework.empty_passes = events > 0 ? 0 : framework.empty_passes + 1;
}

int btl_pass_locked(bool thorough)
{
    if (framework.progressing) {
        return 0;
    }
    framework.progressing = true;
    framework.progresser = pthread_self();
    int events = poll_all(thorough);
    framework.progressing = false;
    if (framework.after_pass && btl_lock_holds() == 1) { /* else it is inside another call */
        framework.after_pass(framework.after_arg);
    }
    return events;
}

void btl_enter(void)
{
    btl_lock();
}

void btl_leave(void)
{
    btl_thread_stir();
    btl_unlock();
}

void btl_after_pass(void (*after)(void *arg), void *arg)
{
    framework.after_pass = after;
    framework.after_arg = arg;
}

static int progress_among_threads(void)
{
    if (!btl_lock_try()) {
        sched_yield();
        return 0;
    }
    bool yielding = is_yielding();
    btl_thread_note_poll();
    int events = btl_pass_locked(yielding);
    count_pass(events);
    btl_lock_drop();
    if (events == 0 && yielding) {
        sched_yield();
    } else {
        btl_lock_give_way();
    }
    return events;
}

int btl_progress(void)
{
    if (btl_lock_used) {
        return progress_among_threads();
    }
    if (framework.progressing) {
        return 0;
    }
    framework.progressing = true;
    bool yielding = is_yielding();
    int events = poll_all(yielding);
    framework.progressing = false;
    if (events == 0 && yielding) {
        sched_yield();
    }
    count_pass(events);
    return events;
}

bool btl_progressing(void)
{
    return framework.progressing &&
           (!btl_lock_used || pthread_equal(framework.progresser, pthread_self()));
}

bool btl_progress_is_open(void)
{
    return framework.progressing;
}

struct btl_module_entry **btl_entries(size_t *count)
{
    *count = framework.module_count;
    return framework.entries;
}

struct btl_module_entry *btl_entry(const mca_btl_base_module_t *module)
{
    module = btl_layer_innermost(module);
    for (size_t i = 0; i < framework.module_count; i++) {
        struct btl_module_entry *entry = framework.entries[i];
        if (entry->module == module) {
            return entry;
        }
    }
    return NULL;
}

void btl_deliver(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments, size_t count)
{
    struct btl_layer *layer = btl_layer_before(module);
    if (layer) {
        layer->deliver(layer, endpoint, tag, segments, count);
        return;
    }
    mca_btl_active_message_callback_t trigger = mca_btl_base_active_message_trigger[tag];
    if (!trigger.cbfunc) {
        framework.dropped++;
        if (!framework.drop_warned) {
            framework.drop_warned = true;
            log_warn(LOG_BTL, "%s: dropped a message with tag %u, which nobody registered",
                     component_name(module->btl_component), (unsigned) tag);
        }
        return;
    }
    mca_btl_base_descriptor_t descriptor = {
        .des_segments = segments,
        .des_segment_count = count,
        .des_context = endpoint,
        .order = MCA_BTL_NO_ORDER,
    };
    trigger.cbfunc(module, tag, &descriptor, trigger.cbdata);
}

void btl_complete(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  mca_btl_base_descriptor_t *descriptor, int status)
{
    /* The callback may free a descriptor that is its own. */
    bool owned = descriptor->des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    if (descriptor->des_cbfunc) {
        descriptor->des_cbfunc(btl_layer_outermost(module), endpoint, descriptor, status);
    }
    if (owned) {
        module->btl_free(module, descriptor);
    }
}

int btl_sent(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
             mca_btl_base_descriptor_t *descriptor)
{
    if (descriptor->des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK) {
        btl_complete(module, endpoint, descriptor, OPAL_SUCCESS);
    } else if (descriptor->des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP) {
        module->btl_free(module, descriptor);
    }
    return 1;
}

void btl_report_error(mca_btl_base_module_t *module, int32_t flags, opal_proc_t *proc,
                      const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (struct btl_layer *layer = btl_layer_before(module); layer;
         layer = btl_layer_before(&layer->super)) {
        if (layer->failed) {
            layer->failed(layer, flags, proc);
        }
    }
    if (framework.failed && (proc || (flags & MCA_BTL_ERROR_FLAGS_FATAL))) {
        framework.failed(framework.failed_arg, btl_layer_outermost(module), proc);
    }
    struct btl_module_entry *entry = btl_entry(module);
    if (entry && entry->error) {
        entry->error(btl_layer_outermost(module), flags, proc, text);
        return;
    }
    log_at(LOG_BTL, flags & MCA_BTL_ERROR_FLAGS_FATAL ? LOG_ERROR : LOG_WARN, "%s: %s%s%s",
           component_name(module->btl_component), proc ? ORTE_NAME_PRINT(&proc->proc_name) : "",
           proc ? ": " : "", text);
}

void btl_on_failure(void (*failed)(void *arg, mca_btl_base_module_t *module, opal_proc_t *proc),
                    void *arg)
{
    framework.failed = failed;
    framework.failed_arg = arg;
}

int btl_register_tag(mca_btl_base_module_t *module, mca_btl_base_tag_t tag,
                     mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    (void) module;
    mca_btl_base_active_message_trigger[tag] =
        (mca_btl_active_message_callback_t){.cbfunc = cbfunc, .cbdata = cbdata};
    return OPAL_SUCCESS;
}

int btl_register_error_fn(mca_btl_base_module_t *module, mca_btl_base_module_error_cb_fn_t cbfunc)
{
    struct btl_module_entry *entry = btl_entry(module);
    if (!entry) {
        return OPAL_ERR_NOT_FOUND;
    }
    entry->error = cbfunc;
    return OPAL_SUCCESS;
}
