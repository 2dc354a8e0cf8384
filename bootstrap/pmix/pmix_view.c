/* Linked into libkeel and the module. */
#include <config.h>

#include <bootstrap/pmix/module.h>

#include <stdlib.h>
#include <string.h>

void pmix_view_fini(struct pmix_view *view)
{
    for (uint32_t rank = 0; view->hosts && rank < view->size; rank++) {
        free(view->hosts[rank]);
    }
    free(view->hosts);
    memset(view, 0, sizeof(*view));
}
