#include <config.h>

#include <pml/process.h>
#include <ptl/components.h>
#include <stddef.h>

/* The PML of this process, and whether keel_pml_close may close it. */
static struct pml *the_pml;
static bool is_users;

static mca_ptl_base_component_t *const components[] = {&ptl_rail_component, NULL};

int pml_process_open(const struct pml_host *host)
{
    struct pml *pml;
    if (the_pml) {
        return OPAL_EXISTS;
    }
    struct pml_host over_rails = *host;
    over_rails.is_busy = ptl_rail_is_busy;
    int status = pml_open(&pml, &over_rails, components);
    if (status == OPAL_SUCCESS) {
        the_pml = pml;
        is_users = false;
    }
    return status;
}

void pml_process_end(void)
{
    if (the_pml) {
        pml_abandon(the_pml);
        the_pml = NULL;
    }
}

int pml_process_settle(void)
{
    return the_pml ? pml_settle(the_pml) : 0;
}

void pml_process_forget(void)
{
    the_pml = NULL;
}

int keel_pml_open_on(const struct keel_host_ops *ops, void *host)
{
    if (!ops || !ops->me) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct pml_host asked = {.me = ops->me(host), .progress = ops->progress, .arg = host};
    int status = pml_process_open(&asked);
    is_users = is_users || status == OPAL_SUCCESS;
    return status;
}

int keel_pml_close(void)
{
    if (!the_pml || !is_users) {
        return OPAL_ERROR;
    }
    int status = pml_close(the_pml);
    if (status == OPAL_SUCCESS) {
        the_pml = NULL;
    }
    return status;
}

int keel_pml_progress(void)
{
    return the_pml ? pml_progress(the_pml) : 0;
}

int keel_pml_context_open(uint32_t id, opal_proc_t *const *members, size_t size, int32_t my_rank,
                          struct keel_pml_context **context)
{
    return the_pml ? pml_context_open(the_pml, id, members, size, my_rank, context) : OPAL_ERROR;
}
