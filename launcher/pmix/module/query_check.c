/* Functions that libpmix 4.2.2 calls by way of this module, since its own are unsafe in a server.
 * The loader looks into this object before it looks into libpmix, which this one has loaded. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <dlfcn.h>
#include <string.h>

typedef pmix_status_t query_fn(pmix_query_t queries[], size_t count, pmix_info_cbfunc_t done,
                               void *cbdata);

/* Is a qualifier that libpmix reads without looking at its type what it should be? */
static bool is_sound(const pmix_info_t *qualifier)
{
    const pmix_value_t *value = &qualifier->value;
    if (PMIX_CHECK_KEY(qualifier, PMIX_PROCID)) {
        return value->type == PMIX_PROC && value->data.proc;
    }
    if (PMIX_CHECK_KEY(qualifier, PMIX_NSPACE)) {
        return value->type == PMIX_STRING && value->data.string;
    }
    return !PMIX_CHECK_KEY(qualifier, PMIX_RANK) || value->type == PMIX_PROC_RANK;
}

/* PMIX_SUCCESS: libpmix can take it. A question about supported functions ends it: it answers with
 * the wrong argument. So does a rank without its namespace. */
static pmix_status_t check_query(const pmix_query_t *query)
{
    bool rank = false, nspace = false;
    if (!query->keys || !query->keys[0]) {
        return PMIX_ERR_BAD_PARAM;
    }
    for (char **key = query->keys; *key; key++) {
        if (strcmp(*key, PMIX_QUERY_ATTRIBUTE_SUPPORT) == 0) {
            return PMIX_ERR_NOT_SUPPORTED;
        }
    }
    for (size_t i = 0; i < query->nqual; i++) {
        const pmix_info_t *qualifier = &query->qualifiers[i];
        if (!is_sound(qualifier)) {
            return PMIX_ERR_BAD_PARAM;
        }
        rank = rank || PMIX_CHECK_KEY(qualifier, PMIX_RANK);
        nspace = nspace || PMIX_CHECK_KEY(qualifier, PMIX_NSPACE) ||
                 PMIX_CHECK_KEY(qualifier, PMIX_PROCID);
    }
    return rank && !nspace ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

/* What a client asks passes here on its way to the library's own. */
KEEL_EXPORT pmix_status_t PMIx_Query_info_nb(pmix_query_t queries[], size_t count,
                                             pmix_info_cbfunc_t done, void *cbdata)
{
    query_fn *query = (query_fn *) dlsym(RTLD_NEXT, "PMIx_Query_info_nb");
    pmix_status_t status = query ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
    for (size_t i = 0; i < count && status == PMIX_SUCCESS; i++) {
        status = check_query(&queries[i]);
    }
    return status == PMIX_SUCCESS ? query(queries, count, done, cbdata) : status;
}
