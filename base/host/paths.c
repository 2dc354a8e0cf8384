#include <config.h>

#include <base/host/paths.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const program_folders[] = {"", "../bin/", "../../bin/", "../../../bin/", NULL};
static const char *const library_folders[] = {
    "", "../" KEEL_LIBDIR "/", "../lib/", "../lib64/", "../lib/" KEEL_LIBTOOL_OBJDIR "/", NULL,
};
static const char *const module_folders[] = {
    "",
    "keel/",
    "../" KEEL_LIBDIR "/keel/",
    "../lib/keel/",
    "../lib64/keel/",
    "../lib/" KEEL_LIBTOOL_OBJDIR "/",
    "../../lib/keel/",
    "../../lib64/keel/",
    "../../lib/" KEEL_LIBTOOL_OBJDIR "/",
    "../../../lib/keel/",
    "../../../lib64/keel/",
    "../../../lib/" KEEL_LIBTOOL_OBJDIR "/",
    "../../../../lib/" KEEL_LIBTOOL_OBJDIR "/", /* from tests/unit/LAYER/ROOM */
    NULL,
};

/* The file that holds this code: links resolved, malloc'd; NULL: unknown. */
static char *own_file(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1((const void *) program_folders, &info, (void **) &map, RTLD_DL_LINKMAP) == 0 ||
        !map) {
        return NULL;
    }
    /* The program itself has no name there; dli_fname would be argv[0], which anybody may choose.
     */
    return realpath(*map->l_name ? map->l_name : "/proc/self/exe", NULL);
}

static bool is_usable(const char *path, int access_mode)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, access_mode) == 0;
}

static char *find(const char *name, const char *const *folders, int access_mode)
{
    char path[PATH_MAX];
    char *own = strchr(name, '/') ? NULL : own_file();
    char *slash = own ? strrchr(own, '/') : NULL;
    char *found = NULL;
    if (!slash) {
        free(own);
        return NULL;
    }
    slash[1] = '\0';
    for (; *folders && !found; folders++) {
        int length = snprintf(path, sizeof(path), "%s%s%s", own, *folders, name);
        if (length > 0 && (size_t) length < sizeof(path) && is_usable(path, access_mode)) {
            found = realpath(path, NULL);
        }
    }
    free(own);
    return found;
}

char *paths_program(const char *name)
{
    return find(name, program_folders, X_OK);
}

char *paths_module(const char *name)
{
    return find(name, module_folders, R_OK);
}

char *paths_library(void)
{
    char *path = find("libkeel.so.0", library_folders, R_OK);
    if (path) {
        *strrchr(path, '/') = '\0';
    }
    return path;
}

void *paths_load(const char *module, const char *symbol, char *reason, size_t reason_size)
{
    char *path = paths_module(module);
    void *object = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *found = object ? dlsym(object, symbol) : NULL;
    if (!path) {
        snprintf(reason, reason_size, "%s is not installed: Keel was built without what it needs",
                 module);
    } else if (!found) {
        const char *error = dlerror();
        snprintf(reason, reason_size, "%s cannot be loaded: %s", path, error ? error : "unknown");
    }
    free(path);
    return found;
}
