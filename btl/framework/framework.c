#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/lock/lock.h>
#include <btl/lock/wake.h>
#include <btl/modules/entry.h>
#include <btl/progress/progress.h>
#include <btl/progress/thread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct param btl, verbose, thread_multiple, progress_threads;
} params = {
    .btl = PARAM_STRING("btl", "",
                        "Components of the data plane to open (self,sm), or not to open (^tcp); "
                        "empty: all but those that have to be named."),
    .verbose = PARAM_INT("btl_base_verbose", "0", 0, LOG_TRACE, "",
                         "Verbosity of the data plane: 1 info, 2 debug, 3 trace."),
    .thread_multiple =
        PARAM_BOOL("enable_thread_multiple", "0",
                   "Let any thread call the data plane at any time, behind one lock."),
    .progress_threads = PARAM_BOOL(
        "enable_progress_threads", "0",
        "Drive the data plane by a thread, which sleeps in the kernel when there is nothing to do, "
        "while the program does not call Keel; callbacks come on it, too."),
};
PARAM_ROWS("btl", params);

/* The framework's state, from btl_open to btl_close. One thread at a time: where several use it, it
 * is guarded by the lock. */
static struct {
    struct btl_host host;
    struct btl_threads threads;
    void (*closed)(void); /* of btl_at_close; NULL: none */
} framework;

static struct btl_threads asked; /* of the next btl_open */

/* What a component's init made: those that could be opened come first. Returns how many. */
static size_t first_ones(mca_btl_base_module_t **made, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; made && i < count; i++) {
        if (made[i]) {
            made[kept++] = made[i];
        }
    }
    return kept;
}

static int keep_modules(const struct btl_component *component, mca_btl_base_module_t **made,
                        size_t count)
{
    int status = count > 0 ? btl_entries_add(component, made, count) : ORTE_ERR_NOT_AVAILABLE;
    for (size_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        btl_ext_init(btl_entry(made[i]));
    }
    return status;
}

static void component_close(const struct btl_component *component)
{
    const mca_base_component_t *version = &component->component.btl_version;
    if (version->mca_close_component) {
        version->mca_close_component();
    }
}

/* Opens one component and keeps its modules. NOT_AVAILABLE: its transport is not there. */
static int component_open(const struct btl_component *component)
{
    const mca_base_component_t *version = &component->component.btl_version;
    const char *name = btl_component_name(&component->component);
    int status = version->mca_open_component ? version->mca_open_component() : ORTE_SUCCESS;
    if (status != ORTE_SUCCESS) {
        log_info(LOG_BTL, "%s: not opened: %s", name, opal_strerror(status));
        return ORTE_ERR_NOT_AVAILABLE;
    }
    int slots = 0;
    mca_btl_base_module_t **made = component->component.btl_init(&slots, framework.threads.progress,
                                                                 framework.threads.multiple);
    size_t count = first_ones(made, (size_t) slots);
    status = keep_modules(component, made, count);
    if (status == ORTE_SUCCESS) {
        log_info(LOG_BTL, "%s: %zu module%s", name, count, count == 1 ? "" : "s");
    } else {
        for (size_t i = 0; i < count; i++) {
            made[i]->btl_finalize(made[i]);
        }
        component_close(component);
        log_info(LOG_BTL, "%s: no module: %s", name, opal_strerror(status));
    }
    free(made);
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
    threads.progress = param_bool(&params.progress_threads) || threads.progress;
    threads.multiple = param_bool(&params.thread_multiple) || threads.multiple || threads.progress;
    asked = (struct btl_threads){0};
    return threads;
}

/* The last part of btl_open, with all modules there. */
static int open_for_use(char *reason, size_t reason_size)
{
    int status = btl_taps_open(framework.threads.multiple, reason, reason_size);
    if (status == ORTE_SUCCESS && btl_progress_open() != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "out of memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (status != ORTE_SUCCESS || !framework.threads.multiple) {
        return status;
    }
    btl_lock_used = true;
    return framework.threads.progress ? btl_thread_start(reason, reason_size) : ORTE_SUCCESS;
}

/* The parameters of a component that is not opened may have any value. */
static bool is_used(const char *name, const void *choice)
{
    for (size_t i = 0; btl_components[i]; i++) {
        const char *component = btl_component_name(&btl_components[i]->component);
        size_t length = strlen(component);
        if (strncmp(name, "btl_", 4) == 0 && strncmp(name + 4, component, length) == 0 &&
            name[4 + length] == '_') {
            return btl_choice_opens(choice, btl_components[i]);
        }
    }
    return true;
}

/* A value that does not fit is nothing to go on with: the program would run as nobody asked. */
static int check_params(char *reason, size_t reason_size)
{
    if (!param_fits(&params.btl, reason, reason_size)) {
        return ORTE_ERR_BAD_PARAM;
    }
    const char *choice = param_string(&params.btl);
    int status = btl_choice_check(choice, reason, reason_size);
    return status == ORTE_SUCCESS ? param_demand("btl", is_used, choice, reason, reason_size)
                                  : status;
}

int btl_open(const struct keel_host_ops *ops, void *arg, char *reason, size_t reason_size)
{
    framework.threads = take_threads();
    int status = check_params(reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    int64_t verbose = param_int(&params.verbose);
    if (verbose > log_verbosity[LOG_BTL]) {
        log_set_verbosity(LOG_BTL, (int) verbose);
    }
    const char *choice = param_string(&params.btl);
    framework.host = (struct btl_host){.ops = ops, .arg = arg};
    for (size_t i = 0; btl_components[i]; i++) {
        if (!btl_choice_opens(choice, btl_components[i])) {
            continue;
        }
        status = component_open(btl_components[i]);
        if (status != ORTE_SUCCESS && status != ORTE_ERR_NOT_AVAILABLE) {
            snprintf(reason, reason_size, "btl %s: %s",
                     btl_component_name(&btl_components[i]->component), opal_strerror(status));
            btl_close();
            return status;
        }
    }
    size_t count;
    (void) btl_modules(&count);
    if (count == 0) {
        snprintf(reason, reason_size,
                 "no component of the data plane could be opened (btl = \"%s\")", choice);
        btl_close();
        return ORTE_ERR_NOT_AVAILABLE;
    }
    status = open_for_use(reason, reason_size);
    if (status != ORTE_SUCCESS) {
        btl_close();
    }
    return status;
}

struct visit {
    const struct btl_component *component;
    const char *unused; /* why the whole component is; NULL: it is not */
    keel_device_fn visit;
    void *arg;
};

static void visit_device(void *arg, const struct keel_device *found)
{
    const struct visit *visit = arg;
    struct keel_device device = *found;
    device.component = btl_component_name(&visit->component->component);
    device.unused = found->unused ? found->unused : visit->unused;
    visit->visit(visit->arg, &device);
}

void btl_devices_each(keel_device_fn visit, void *arg)
{
    const char *choice = param_string(&params.btl);
    for (size_t i = 0; btl_components[i]; i++) {
        const struct btl_component *component = btl_components[i];
        struct visit visits = {component, NULL, visit, arg};
        if (!btl_choice_opens(choice, component)) {
            visits.unused = component->named_only && choice[0] == '\0'
                                ? "only where the parameter btl names the component"
                                : "the parameter btl leaves the component out";
        }
        if (component->devices) {
            component->devices(visit_device, &visits);
        }
    }
}

void btl_close(void)
{
    btl_thread_stop();
    btl_progress_close(); /* callbacks of what ends may call progress: it polls no ended module */
    size_t count;
    struct btl_module_entry **entries = btl_entries(&count);
    for (size_t i = count; i-- > 0;) {
        mca_btl_base_module_t *module = entries[i]->module;
        const struct btl_component *component = entries[i]->component;
        entries[i]->closing = true;
        btl_pending_end(module, NULL);
        module->btl_finalize(module);
        btl_taps_fini(&entries[i]->taps);
        btl_entries_remove_last();
        if (i == 0 || entries[i - 1]->component != component) { /* its modules lie together */
            component_close(component);
        }
    }
    if (framework.closed) {
        framework.closed();
    }
    btl_upcalls_close();
    btl_lock_used = false;
    btl_entries_clear();
    memset(&framework, 0, sizeof(framework));
}

void btl_at_close(void (*closed)(void))
{
    framework.closed = closed;
}

const struct btl_host *btl_host(void)
{
    return &framework.host;
}

void btl_enter(void)
{
    btl_lock();
}

void btl_leave(void)
{
    btl_wake_stir();
    btl_unlock();
}
