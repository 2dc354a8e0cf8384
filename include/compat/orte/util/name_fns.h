/* Names as text, and their parts. The print functions return one of 16 buffers of the calling
 * thread, which are used in turn. */
#ifndef KEEL_COMPAT_ORTE_NAME_FNS_H
#define KEEL_COMPAT_ORTE_NAME_FNS_H

#include <opal/class/opal_list.h>
#include <orte/types.h>

BEGIN_C_DECLS

/* The original's print functions return text that may be written to. */
#undef ORTE_NAME_PRINT
#define ORTE_NAME_PRINT(name) ((char *) orte_util_print_name_args(name))

char *orte_util_print_jobids(orte_jobid_t job) KEEL_PUBLIC(orte_util_print_jobids);
char *orte_util_print_vpids(orte_vpid_t vpid) KEEL_PUBLIC(orte_util_print_vpids);
char *orte_util_print_job_family(orte_jobid_t job) KEEL_PUBLIC(orte_util_print_job_family);
char *orte_util_print_local_jobid(orte_jobid_t job) KEEL_PUBLIC(orte_util_print_local_jobid);
#define ORTE_JOBID_PRINT(job) orte_util_print_jobids(job)
#define ORTE_VPID_PRINT(vpid) orte_util_print_vpids(vpid)
#define ORTE_JOB_FAMILY_PRINT(job) orte_util_print_job_family(job)
#define ORTE_LOCAL_JOBID_PRINT(job) orte_util_print_local_jobid(job)

/* A jobid is its family's number and the number of the job within the family. */
#define ORTE_JOB_FAMILY(job) (((job) >> 16) & 0x0000ffff)
#define ORTE_LOCAL_JOBID(job) ((job) &0x0000ffff)
#define ORTE_CONSTRUCT_JOB_FAMILY(family) (((family) << 16) & 0xffff0000)
#define ORTE_CONSTRUCT_LOCAL_JOBID(job, local) (((job) &0xffff0000) | ((local) &0x0000ffff))
#define ORTE_HNP_NAME_FROM_JOB(name, job)  \
    do {                                   \
        (name)->jobid = (job) &0xffff0000; \
        (name)->vpid = 0;                  \
    } while (0)

/* Decimal numbers, * for a wildcard and $ for invalid; texts are malloc'd. ORTE_ERR_BAD_PARAM. */
int orte_util_convert_jobid_to_string(char **text, orte_jobid_t job)
    KEEL_PUBLIC(orte_util_convert_jobid_to_string);
int orte_util_convert_string_to_jobid(orte_jobid_t *job, const char *text)
    KEEL_PUBLIC(orte_util_convert_string_to_jobid);
int orte_util_convert_vpid_to_string(char **text, orte_vpid_t vpid)
    KEEL_PUBLIC(orte_util_convert_vpid_to_string);
int orte_util_convert_string_to_vpid(orte_vpid_t *vpid, const char *text)
    KEEL_PUBLIC(orte_util_convert_string_to_vpid);
/* A name from malloc. */
int orte_util_create_process_name(orte_process_name_t **name, orte_jobid_t job, orte_vpid_t vpid)
    KEEL_PUBLIC(orte_util_create_process_name);

END_C_DECLS
#endif
