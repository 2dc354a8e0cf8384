/* What keel/info.h tells of the library as a whole: components, devices, facts. */
#include <config.h>

#include <base/host/paths.h>
#include <base/host/topo_module.h>
#include <bootstrap/built.h>
#include <bootstrap/pmix/module.h>
#include <btl/interface/base.h>
#include <keel/info.h>
#include <ptl/components.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_BYTES = 512 };

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* ---- components ---- */

static bool module_found(const char *module)
{
    char *path = paths_module(module);
    free(path);
    return path != NULL;
}

static void show_component(const mca_base_component_t *version, const struct btl_component *btl,
                           keel_component_fn visit, void *arg)
{
    char interface[64];
    snprintf(interface, sizeof(interface), "%d.%d.%d", version->mca_type_major_version,
             version->mca_type_minor_version, version->mca_type_release_version);
    visit(arg, &(struct keel_component){
                   .framework = version->mca_type_name,
                   .name = version->mca_component_name,
                   .interface = interface,
                   .lacks = btl ? btl->lacks : NULL,
                   .loads = btl ? btl->loads : NULL,
                   .found = !btl || !btl->loads || module_found(btl->loads),
                   .named_only = btl && btl->named_only,
               });
}

void keel_components_each(keel_component_fn visit, void *arg)
{
    for (size_t i = 0; btl_components[i]; i++) {
        show_component(&btl_components[i]->component.btl_version, btl_components[i], visit, arg);
    }
    show_component(&ptl_rail_component.ptlm_version, NULL, visit, arg);
}

void keel_devices_each(keel_device_fn visit, void *arg)
{
    btl_devices_each(visit, arg);
}

/* ---- facts ---- */

static void show_build(keel_fact_fn visit, void *arg)
{
    visit(arg, "build", "version", PACKAGE_VERSION);
    visit(arg, "build", "compiler", COMPILER);
    visit(arg, "build", "options", BUILT_CFLAGS);
    visit(arg, "build", "sanitizers", BUILT_SANITIZERS);
}

/* Those that stand behind a module are loaded when they are needed. */
static void show_libraries(keel_fact_fn visit, void *arg)
{
    static const struct {
        const char *name, *version, *module;
    } libraries[] = {
        {"libevent", BUILT_LIBEVENT, NULL},
        {"libsodium", BUILT_LIBSODIUM, NULL},
        {"zlib", BUILT_ZLIB, NULL},
        {"hwloc", BUILT_HWLOC, TOPO_MODULE},
        {"libpmix", BUILT_PMIX, PMIX_CLIENT_FILE},
        {"libfabric", BUILT_LIBFABRIC, "keel-libfabric.so"},
    };
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        const char *version = libraries[i].version, *module = libraries[i].module;
        char text[TEXT_BYTES];
        bool built = version[0] >= '0' && version[0] <= '9';
        snprintf(text, sizeof(text), "%s%s%s%s", version, built && module ? ", by " : "",
                 built && module ? module : "",
                 !built || !module      ? ""
                 : module_found(module) ? " when it is needed"
                                        : ", which is not there");
        visit(arg, "libraries", libraries[i].name, text);
    }
}

static uint32_t count_objects(const struct topo *topo, enum topo_level level)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < topo->count; i++) {
        uint32_t object = topo->threads[i].object[level];
        if (object != TOPO_NONE && object + 1 > count) {
            count = object + 1;
        }
    }
    return count;
}

static void show_count(keel_fact_fn visit, void *arg, const char *name, uint32_t count)
{
    char text[16];
    snprintf(text, sizeof(text), "%u", count);
    visit(arg, "topology", name, text);
}

static void show_objects(keel_fact_fn visit, void *arg, const struct topo *topo)
{
    static const struct {
        enum topo_level level;
        const char *name;
    } levels[] = {{TOPO_PACKAGE, "packages"},
                  {TOPO_NUMA, "NUMA nodes"},
                  {TOPO_L3, "L3 caches"},
                  {TOPO_L2, "L2 caches"},
                  {TOPO_L1, "L1 caches"},
                  {TOPO_CORE, "cores"},
                  {TOPO_HWTHREAD, "hardware threads"}};
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        show_count(visit, arg, levels[i].name,
                   levels[i].level == TOPO_HWTHREAD ? topo->count
                                                    : count_objects(topo, levels[i].level));
    }
}

static void show_topology(keel_fact_fn visit, void *arg)
{
    struct topo topo = {0};
    char reason[TEXT_BYTES];
    if (topo_read(&topo, reason, sizeof(reason)) == ORTE_SUCCESS) {
        show_objects(visit, arg, &topo);
    } else {
        visit(arg, "topology", "objects", reason);
    }
    topo_fini(&topo);
    show_count(visit, arg, "usable cores", topo_usable_cores());
    show_count(visit, arg, "usable hardware threads", topo_usable_cpus());
}

void keel_facts_each(keel_fact_fn visit, void *arg)
{
    show_build(visit, arg);
    show_libraries(visit, arg);
    show_topology(visit, arg);
}
