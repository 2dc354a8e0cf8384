#include <config.h>

#include <keel/keel.h>
#include <orte/mca/errmgr/errmgr.h>
#include <stdarg.h>
#include <stdio.h>

static void log_status(int status, const char *file, int line)
{
    if (status == ORTE_SUCCESS || status == ORTE_ERR_SILENT) {
        return;
    }
    opal_output(0, "%s ORTE_ERROR_LOG: %s (%d) at %s:%d", ORTE_NAME_PRINT(ORTE_PROC_MY_NAME),
                ORTE_ERROR_NAME(status), status, file, line);
}

static void abort_job(int status, const char *format, ...)
{
    char reason[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format ? format : "", arguments);
    va_end(arguments);
    keel_abort(status, "%s", reason);
}

orte_errmgr_base_module_t orte_errmgr = {.logfn = log_status, .abort = abort_job};
