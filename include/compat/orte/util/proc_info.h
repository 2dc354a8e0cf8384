/* What a process knows of itself and its job. */
#ifndef KEEL_COMPAT_ORTE_PROC_INFO_H
#define KEEL_COMPAT_ORTE_PROC_INFO_H

#include <orte/types.h>

BEGIN_C_DECLS

#define ORTE_MAX_HOSTNAME_SIZE 512

typedef uint32_t orte_proc_type_t;
#define ORTE_PROC_TYPE_NONE 0x0000
#define ORTE_PROC_SINGLETON 0x0001
#define ORTE_PROC_DAEMON 0x0002
#define ORTE_PROC_HNP 0x0004
#define ORTE_PROC_TOOL 0x0008
#define ORTE_PROC_NON_MPI 0x0010
#define ORTE_PROC_MPI 0x0020
#define ORTE_PROC_APP 0x0030 /* one of the two */

/* Strings are owned by Keel and NULL where there is nothing to say. */
struct orte_proc_info_t {
    orte_process_name_t my_name;
    orte_process_name_t my_daemon; /* invalid in a process that nobody launched, like my_hnp */
    char *my_daemon_uri;
    orte_process_name_t my_hnp; /* keelrun, the daemon with vpid 0 */
    char *my_hnp_uri;
    pid_t hnp_pid;         /* not known: 0 */
    int32_t app_num;       /* which of the job's programs */
    orte_vpid_t num_procs; /* of my job */
    int num_nodes;         /* of my job */
    char *nodename;
    orte_nodeid_t nodeid; /* which of my job's nodes */
    pid_t pid;
    orte_proc_type_t proc_type;
    uint16_t my_port;       /* not known: 0 */
    int32_t num_restarts;   /* nothing is restarted: 0 */
    char *tmpdir_base;      /* of the session folders */
    char *top_session_dir;  /* all jobs of this user */
    char *job_session_dir;  /* this job on this node */
    char *proc_session_dir; /* this process; removed by orte_finalize */
};
typedef struct orte_proc_info_t orte_proc_info_t;

/* Filled by orte_init, cleared by orte_finalize. Not to be written. */
extern orte_proc_info_t orte_process_info KEEL_PUBLIC(orte_process_info);

#define ORTE_PROC_IS_SINGLETON (ORTE_PROC_SINGLETON & orte_process_info.proc_type)
#define ORTE_PROC_IS_DAEMON (ORTE_PROC_DAEMON & orte_process_info.proc_type)
#define ORTE_PROC_IS_HNP (ORTE_PROC_HNP & orte_process_info.proc_type)
#define ORTE_PROC_IS_TOOL (ORTE_PROC_TOOL & orte_process_info.proc_type)
#define ORTE_PROC_IS_NON_MPI (ORTE_PROC_NON_MPI & orte_process_info.proc_type)
#define ORTE_PROC_IS_MPI (ORTE_PROC_MPI & orte_process_info.proc_type)
#define ORTE_PROC_IS_APP (ORTE_PROC_APP & orte_process_info.proc_type)

END_C_DECLS
#endif
