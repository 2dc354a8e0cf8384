#include <config.h>

#include <rml/delivery/credit.h>

void rml_credit_begin(struct rml_credit *credit)
{
    *credit = (struct rml_credit){.limit = RML_LINK_WINDOW};
}

bool rml_credit_take(struct rml_credit *credit, uint64_t cost)
{
    if (cost > credit->limit - credit->used) {
        return false;
    }
    credit->used += cost;
    return true;
}

bool rml_credit_raise(struct rml_credit *credit, uint64_t limit)
{
    if (limit < credit->limit || limit > credit->used + RML_LINK_WINDOW) {
        return false;
    }
    credit->limit = limit;
    return true;
}

void rml_grant_begin(struct rml_grant *grant)
{
    *grant = (struct rml_grant){.told = RML_LINK_WINDOW};
}

bool rml_grant_came(struct rml_grant *grant, uint64_t cost)
{
    if (cost > grant->told - grant->came) {
        return false;
    }
    grant->came += cost;
    return true;
}

bool rml_grant_left(struct rml_grant *grant, uint64_t cost)
{
    grant->left += cost;
    return grant->left + RML_LINK_WINDOW - grant->told >= RML_LINK_WINDOW / 4;
}

uint64_t rml_grant_tell(struct rml_grant *grant)
{
    grant->told = grant->left + RML_LINK_WINDOW;
    return grant->told;
}
