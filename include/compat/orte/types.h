/* Numbers that ORTE's interfaces count in. The types that opal_dss packs them as stand behind. */
#ifndef KEEL_COMPAT_ORTE_TYPES_H
#define KEEL_COMPAT_ORTE_TYPES_H

#include <keel/buffer.h>
#include <orte_config.h>

typedef int32_t orte_std_cntr_t;
#define ORTE_STD_CNTR_T OPAL_INT32
#define ORTE_STD_CNTR_MAX INT32_MAX
#define ORTE_STD_CNTR_MIN INT32_MIN
#define ORTE_STD_CNTR_INVALID (-1)

typedef int32_t orte_exit_code_t;
#define ORTE_EXIT_CODE_T OPAL_INT32

/* Of 1.2 and 1.3. */
typedef int32_t orte_nodeid_t;
#define ORTE_NODEID_T OPAL_INT32
#define ORTE_NODEID_INVALID (-999)
#define ORTE_NODEID_WILDCARD (-1)

#define ORTE_JOBID_T OPAL_UINT32
#define ORTE_JOBID_MAX (UINT32_MAX - 2)
#define ORTE_JOBID_MIN 0
#define ORTE_VPID_T OPAL_UINT32
#define ORTE_VPID_MAX (UINT32_MAX - 2)
#define ORTE_VPID_MIN 0

#endif
