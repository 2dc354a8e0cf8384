#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/check/check.h>
#include <btl/lock/lock.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACTION_REPORT, ACTION_ABORT };
static const char *const actions[] = {"report", "abort", NULL};
static struct {
    struct param check, action, max;
} params = {
    .check = PARAM_BOOL(
        "btl_check", "0",
        "Check every call and callback of the data plane's modules against the contract."),
    .action = PARAM_ENUM(
        "btl_check_action", "report", actions,
        "What a breach of the contract leads to: a line in the log, or also the process's end."),
    .max =
        PARAM_INT("btl_check_max", "100", 1, 1 << 30, "",
                  "Most breaches that are written to the log, one line each; the rest is counted."),
};
PARAM_ROWS("btl", params);

/* Modules bound how deep callbacks nest; this is more than any needs. */
enum { NESTING_MAX = 256 };

static atomic_ulong breaches;
/* The contract lets one thread at a time into the modules of a process, whichever it is. Where the
 * lock is used (btl/lock/lock.h), it sees to that, and others come while a thread inside waits. */
static _Atomic(const void *) inside; /* the address of the thread's mark */
static _Thread_local char mark;
static _Thread_local unsigned depth, callbacks;

bool check_is_wanted(void)
{
    return param_bool(&params.check);
}

unsigned long check_breaches(void)
{
    return atomic_load(&breaches);
}

/* "function+0x10 (program+0x1234)": what addr2line and a reader can use. */
static void describe(char *text, size_t size, const void *address)
{
    Dl_info info;
    if (!address || dladdr(address, &info) == 0 || !info.dli_fname) {
        snprintf(text, size, "%p", address);
        return;
    }
    const char *file = strrchr(info.dli_fname, '/');
    uintptr_t offset = (uintptr_t) address - (uintptr_t) info.dli_fbase;
    snprintf(text, size, "%s%s%s+0x%lx%s", info.dli_sname ? info.dli_sname : "",
             info.dli_sname ? " (" : "", file ? file + 1 : info.dli_fname, (unsigned long) offset,
             info.dli_sname ? ")" : "");
}

void check_report(const struct check_call *call, enum check_side side, const char *format, ...)
{
    unsigned long number = atomic_fetch_add(&breaches, 1) + 1;
    bool ends = param_int(&params.action) == ACTION_ABORT;
    if (number > (unsigned long) param_int(&params.max) && !ends) {
        atomic_fetch_add(&call->check->unwritten, 1);
        return;
    }
    char what[256], where[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    describe(where, sizeof(where), call->from);
    log_error(LOG_BTL, "check: %s, %s, %s: %s: %s; at %s", call->check->name,
              call->endpoint ? call->endpoint->name : "no peer", call->operation,
              side == CHECK_CALLER ? "caller" : "module", what, where);
    if (ends) {
        abort(); /* asked for: the core shows who it was */
    }
}

void check_conclude(struct check *check)
{
    unsigned long unwritten = atomic_load(&check->unwritten);
    if (unwritten > 0) {
        log_warn(LOG_BTL, "check: %s: %lu more breaches of the contract were not written",
                 check->name, unwritten);
    }
}

static bool is_inside(void)
{
    return btl_lock_used ? depth > 0 : atomic_load(&inside) == &mark;
}

/* False: another thread is inside. */
static bool go_inside(void)
{
    const void *nobody = NULL;
    if (is_inside() || btl_lock_used) {
        depth++;
    } else if (atomic_compare_exchange_strong(&inside, &nobody, &mark)) {
        depth = 1;
    } else {
        return false;
    }
    return true;
}

bool check_enter(const struct check_call *call)
{
    if (!go_inside()) {
        check_report(call, CHECK_CALLER, "a second thread calls while another one is inside");
        return false;
    }
    return true;
}

void check_leave(void)
{
    if (--depth == 0) {
        atomic_store(&inside, NULL);
    }
}

void check_taken(const struct check_call *call, int status)
{
    if (status >= 0 && call->check->tap.taps->at[BTL_TAP_HOLD]) {
        check_report(call, CHECK_MODULE, "returned %d while a checkpoint holds it", status);
    }
}

/* Progress is no call of the table's: a callback of its begins here. */
void check_callback_begin(const struct check_call *call)
{
    if (!go_inside()) {
        check_report(call, CHECK_MODULE, "calls back on a second thread");
        return;
    }
    if (++callbacks == NESTING_MAX) {
        check_report(call, CHECK_MODULE, "callbacks are nested %d deep", NESTING_MAX);
    }
}

void check_callback_end(void)
{
    if (is_inside()) {
        callbacks--;
        check_leave();
    }
}

bool check_in_callback(void)
{
    return is_inside() && callbacks > 0;
}
