#include <config.h>

#include <pml/base.h>
#include <ptl/components.h>
#include <stddef.h>

/* The PML of this process. */
static struct pml *the_pml;

static mca_ptl_base_component_t *const components[] = {&ptl_rail_component, NULL};

int pml_use(struct pml *pml)
{
    if (pml && the_pml) {
        return OPAL_EXISTS;
    }
    the_pml = pml;
    return OPAL_SUCCESS;
}

int keel_pml_open_on(const struct keel_host_ops *ops, void *host)
{
    struct pml *pml;
    if (!ops || !ops->me) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (the_pml) {
        return OPAL_EXISTS;
    }
    const struct pml_host asked = {.me = ops->me(host), .progress = ops->progress, .arg = host};
    int status = pml_open(&pml, &asked, components);
    return status == OPAL_SUCCESS ? pml_use(pml) : status;
}

int keel_pml_close(void)
{
    if (!the_pml) {
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
