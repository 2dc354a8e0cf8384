/* What a process knows of itself, before, between and after orte_init and orte_finalize.
 *
 *   life [NUMBER]     it is the program with this number, else the first */
#include "old.h"

#include "opal/runtime/opal.h"
#include "orte/mca/rml/base/rml_contact.h"

#include <sys/stat.h>

static void check_outside(void)
{
    CHECK(!orte_initialized);
    CHECK(ORTE_PROC_MY_NAME->jobid == ORTE_JOBID_INVALID);
    CHECK(ORTE_PROC_MY_NAME->vpid == ORTE_VPID_INVALID);
    CHECK(ORTE_PROC_MY_DAEMON->jobid == ORTE_JOBID_INVALID);
    CHECK(orte_process_info.num_procs == 0);
    CHECK(orte_process_info.proc_type == ORTE_PROC_TYPE_NONE);
    CHECK(orte_process_info.nodename == NULL);
    CHECK(orte_process_info.nodeid == ORTE_NODEID_INVALID);
    CHECK(orte_process_info.proc_session_dir == NULL);
    CHECK(ORTE_SUCCESS == orte_finalize());
}

/* Of a process that keelrun started. */
static void check_launched(void)
{
    struct stat folder;
    orte_process_name_t named;
    CHECK(ORTE_PROC_MY_DAEMON->jobid == (ORTE_PROC_MY_NAME->jobid & 0xffff0000));
    CHECK(orte_process_info.my_daemon_uri != NULL);
    CHECK(ORTE_PROC_MY_HNP->jobid == ORTE_PROC_MY_DAEMON->jobid);
    CHECK(ORTE_PROC_MY_HNP->vpid == 0);
    CHECK(orte_process_info.my_hnp_uri != NULL);
    CHECK(ORTE_SUCCESS == orte_rml_base_parse_uris(orte_process_info.my_hnp_uri, &named, NULL));
    CHECK(named.vpid == 0 && named.jobid == ORTE_PROC_MY_HNP->jobid);
    CHECK(orte_process_info.tmpdir_base != NULL);
    CHECK(strstr(orte_process_info.top_session_dir, orte_process_info.tmpdir_base) ==
          orte_process_info.top_session_dir);
    CHECK(strstr(orte_process_info.job_session_dir, orte_process_info.top_session_dir) ==
          orte_process_info.job_session_dir);
    CHECK(strstr(orte_process_info.proc_session_dir, orte_process_info.job_session_dir) ==
          orte_process_info.proc_session_dir);
    CHECK(stat(orte_process_info.proc_session_dir, &folder) == 0 && S_ISDIR(folder.st_mode));
    CHECK((folder.st_mode & 0777) == 0700);
    CHECK(!ORTE_PROC_IS_SINGLETON);
}

static void check_alone(void)
{
    CHECK(orte_process_info.num_procs == 1);
    CHECK(orte_process_info.my_daemon_uri == NULL);
    CHECK(ORTE_PROC_MY_HNP->vpid == ORTE_VPID_INVALID);
    CHECK(ORTE_PROC_IS_SINGLETON);
}

static void check_inside(void)
{
    CHECK(orte_initialized);
    CHECK(ORTE_LOCAL_JOBID(ORTE_PROC_MY_NAME->jobid) != 0);
    CHECK(ORTE_PROC_MY_NAME->vpid < orte_process_info.num_procs);
    CHECK(orte_process_info.num_nodes >= 1);
    CHECK(orte_process_info.num_nodes <= (int) orte_process_info.num_procs);
    CHECK(orte_process_info.nodename != NULL && orte_process_info.nodename[0] != 0);
    CHECK(orte_process_info.nodeid >= 0 && orte_process_info.nodeid < orte_process_info.num_nodes);
    CHECK(orte_process_info.pid == getpid());
    CHECK(orte_process_info.num_restarts == 0);
    CHECK(ORTE_PROC_IS_NON_MPI);
    CHECK(ORTE_PROC_IS_APP);
    CHECK(!ORTE_PROC_IS_MPI && !ORTE_PROC_IS_TOOL && !ORTE_PROC_IS_DAEMON && !ORTE_PROC_IS_HNP);
}

int main(int argc, char **argv)
{
    bool launched = getenv("KEEL_DAEMON") != NULL;
    int count = argc;
    char **arguments = argv;

    CHECK(OPAL_SUCCESS == opal_init(&argc, &argv));
    check_outside();
    CHECK(ORTE_ERR_NOT_SUPPORTED == orte_init(&argc, &argv, ORTE_PROC_DAEMON));
    CHECK(ORTE_ERR_NOT_SUPPORTED == orte_init(&argc, &argv, ORTE_PROC_HNP));
    check_outside();

    CHECK(ORTE_SUCCESS == orte_init(&argc, &argv, ORTE_PROC_NON_MPI));
    check_inside();
    CHECK(orte_process_info.app_num == (argc > 1 ? atoi(argv[1]) : 0));
    if (launched) {
        check_launched();
    } else {
        check_alone();
    }
    CHECK(ORTE_SUCCESS == orte_init(NULL, NULL, ORTE_PROC_MPI)); /* does nothing */
    check_inside();
    CHECK(argc == count && argv == arguments);

    CHECK(ORTE_SUCCESS == orte_finalize());
    check_outside();
    if (!launched) { /* a rank leaves once */
        CHECK(ORTE_SUCCESS == orte_init(&argc, &argv, ORTE_PROC_TOOL));
        CHECK(ORTE_PROC_IS_TOOL && ORTE_PROC_IS_SINGLETON);
        CHECK(ORTE_SUCCESS == orte_finalize());
        check_outside();
    }
    CHECK(OPAL_SUCCESS == opal_finalize());
    return failures > 0;
}
