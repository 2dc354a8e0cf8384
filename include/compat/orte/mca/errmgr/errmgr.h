/* Errors: their names, a log of where they came up, and the end of the job. */
#ifndef KEEL_COMPAT_ORTE_ERRMGR_H
#define KEEL_COMPAT_ORTE_ERRMGR_H

#include <orte/constants.h>
#include <orte/runtime/orte_globals.h>

BEGIN_C_DECLS

#define ORTE_ERROR_NAME(status) opal_strerror(status)
/* Writes name, file and line to standard error; nothing for ORTE_SUCCESS and ORTE_ERR_SILENT. */
#define ORTE_ERROR_LOG(status) orte_errmgr.logfn((status), __FILE__, __LINE__)

typedef struct orte_errmgr_base_module_t {
    void (*logfn)(int status, const char *file, int line);
    /* Ends the job as keel_abort does, with a reason in printf's manner, or NULL. */
    void (*abort)(int status, const char *format, ...) KEEL_PRINTF(2, 3);
} orte_errmgr_base_module_t;

extern orte_errmgr_base_module_t orte_errmgr KEEL_PUBLIC(orte_errmgr);

END_C_DECLS
#endif
