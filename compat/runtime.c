/* Joining and leaving, the ORTE way. */
#include <config.h>

#include <bootstrap/process.h>
#include <compat/proc_info.h>
#include <keel/buffer.h>
#include <keel/keel.h>
#include <opal/runtime/opal.h>
#include <opal/runtime/opal_progress.h>
#include <orte/runtime/runtime.h>
#include <sched.h>

/* The original's interface: global variables. The application's thread writes them. */
bool orte_initialized;
bool orte_finalizing;

int orte_init(int *argc, char ***argv, orte_proc_type_t type)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    (void) argc;
    (void) argv;
    if (orte_initialized) {
        return ORTE_SUCCESS;
    }
    if (type & (ORTE_PROC_DAEMON | ORTE_PROC_HNP)) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    options.data_plane = false;
    int status = keel_init(&options);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    status = proc_info_fill(type);
    if (status != ORTE_SUCCESS) {
        (void) keel_finalize();
        return status;
    }
    orte_initialized = true;
    return ORTE_SUCCESS;
}

/* 1.3 and 1.4: the flags say only whether this is a tool. */
int orte_init_1_3(char flags) KEEL_PUBLIC(orte_init_1_3);

int orte_init_1_3(char flags)
{
    bool is_tool = flags & (ORTE_TOOL | ORTE_TOOL_WITH_NAME);
    return orte_init(NULL, NULL, is_tool ? ORTE_PROC_TOOL : ORTE_PROC_NON_MPI);
}

int orte_finalize(void)
{
    if (!orte_initialized) {
        return ORTE_SUCCESS;
    }
    if (rml_in_callback(process_rml())) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    orte_finalizing = true;
    proc_info_clear(); /* the folders above its own may go with the job */
    int status = keel_finalize();
    orte_finalizing = false;
    orte_initialized = false;
    return status;
}

int opal_init(int *argc, char ***argv)
{
    (void) argc;
    (void) argv;
    return opal_dss_open();
}

int opal_init_1_3(void) KEEL_PUBLIC(opal_init_1_3);

int opal_init_1_3(void)
{
    return opal_init(NULL, NULL);
}

int opal_finalize(void)
{
    return opal_dss_close();
}

void opal_progress(void)
{
    if (keel_progress() == 0) {
        sched_yield();
    }
}
