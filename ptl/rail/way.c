#include <config.h>

#include <btl/interface/base.h>
#include <ptl/rail/way.h>

static struct rail_way way_by(const struct keel_rail *chosen)
{
    struct rail_module *module = chosen->send ? rail_module_over(chosen->btl) : NULL;
    return (struct rail_way){module, chosen->endpoint};
}

struct rail_way rail_way_any(const opal_proc_t *proc, const struct rail_module *preferred)
{
    struct rail_way best = {0};
    size_t count = 0;
    const struct keel_rail *rails = keel_host_rails(proc, &count);
    for (size_t i = 0; i < count; i++) {
        const struct rail_way way = way_by(&rails[i]);
        if (way.module && (way.module == preferred || !best.module)) {
            best = way;
        }
    }
    return best;
}

struct rail_way rail_way_connected(const opal_proc_t *proc)
{
    size_t count = 0;
    const struct keel_rail *rails = keel_host_rails(proc, &count);
    for (size_t i = 0; i < count; i++) {
        const struct rail_way way = way_by(&rails[i]);
        if (way.module && btl_connected(way.module->btl, way.endpoint)) {
            return way;
        }
    }
    return rail_way_any(proc, NULL);
}
