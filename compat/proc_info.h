/* orte_process_info, filled and cleared. */
#ifndef COMPAT_PROC_INFO_H
#define COMPAT_PROC_INFO_H

#include <orte/util/proc_info.h>

/* From this process as keel_init left it. On an error nothing is filled. */
int proc_info_fill(orte_proc_type_t type) KEEL_MUST_CHECK;
void proc_info_clear(void); /* removes the process's own folder */

#endif
