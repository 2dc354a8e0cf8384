/* My name, my daemon's, and the state of the life cycle. */
#ifndef KEEL_COMPAT_ORTE_GLOBALS_H
#define KEEL_COMPAT_ORTE_GLOBALS_H

#include <opal/dss/dss.h>
#include <opal/util/output.h>
#include <orte/runtime/orte_wait.h>
#include <orte/util/name_fns.h>
#include <orte/util/proc_info.h>

BEGIN_C_DECLS

#define ORTE_PROC_MY_NAME (&orte_process_info.my_name)
#define ORTE_PROC_MY_DAEMON (&orte_process_info.my_daemon)
#define ORTE_PROC_MY_HNP (&orte_process_info.my_hnp)

#define ORTE_ERROR_DEFAULT_EXIT_CODE 1

extern bool orte_initialized KEEL_PUBLIC(orte_initialized); /* between init and finalize */
extern bool orte_finalizing KEEL_PUBLIC(orte_finalizing);   /* inside orte_finalize */

END_C_DECLS
#endif
