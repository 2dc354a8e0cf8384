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

/* From the folder of the object that holds this code; and, in a build tree, from its root. */
struct places {
    int access_mode;
    const char *const *folders;
    const char *build_folder;
};
#define LIBRARY "libkeel.so.0"
#define BUILT_LIBRARIES "/lib/" KEEL_LIBTOOL_OBJDIR "/"

static const struct places program_places = {
    .access_mode = X_OK,
    .folders = (const char *const[]){"", "../bin/", "../../bin/", "../../../bin/", NULL},
    .build_folder = "/bin/",
};
static const struct places library_places = {
    .access_mode = R_OK,
    .folders = (const char *const[]){"", "../" KEEL_LIBDIR "/", "../lib/", "../lib64/", NULL},
    .build_folder = BUILT_LIBRARIES,
};
static const struct places module_places = {
    .access_mode = R_OK,
    .folders = (const char *const[]){"", "keel/", "../" KEEL_LIBDIR "/keel/", "../lib/keel/",
                                     "../lib64/keel/", "../../lib/keel/", "../../lib64/keel/",
                                     "../../../lib/keel/", "../../../lib64/keel/", NULL},
    .build_folder = BUILT_LIBRARIES,
};

/* The file that holds this code: links resolved, malloc'd; NULL: unknown. */
static char *own_file(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1((const void *) &program_places, &info, (void **) &map, RTLD_DL_LINKMAP) == 0 ||
        !map) {
        return NULL;
    }
    /* The program itself has no name there; dli_fname would be argv[0], which anybody may choose.
     */
    return realpath(*map->l_name ? map->l_name : "/proc/self/exe", NULL);
}

/* folder + below + name: links resolved, malloc'd; NULL: no file that may be used so. */
static char *usable(const char *folder, const char *below, const char *name, int access_mode)
{
    char path[PATH_MAX];
    struct stat status;
    int length = snprintf(path, sizeof(path), "%s%s%s", folder, below, name);
    bool found = length > 0 && (size_t) length < sizeof(path) && stat(path, &status) == 0 &&
                 S_ISREG(status.st_mode) && access(path, access_mode) == 0;
    return found ? realpath(path, NULL) : NULL;
}

/* Whether folder is the root of a build tree: libtool has put a libkeel of this owner there, and no
 * link to another one. */
static bool is_build_tree(const char *folder, uid_t owner)
{
    struct stat status;
    size_t length = strlen(folder);
    char *library = length > 0 ? usable(folder, BUILT_LIBRARIES, LIBRARY, R_OK) : NULL;
    bool ours = library && strncmp(library, folder, length) == 0 &&
                strncmp(library + length, BUILT_LIBRARIES, strlen(BUILT_LIBRARIES)) == 0 &&
                stat(library, &status) == 0 && status.st_uid == owner;
    free(library);
    return ours;
}

/* Shortens a folder, which ends with a slash, to the root of its build tree; false: it is in none.
 */
static bool cut_to_build_tree(char *folder)
{
    struct stat status;
    char *slash;
    bool found = false;
    if (stat(folder, &status) != 0) {
        return false;
    }
    while (!found && (slash = strrchr(folder, '/')) != NULL) {
        *slash = '\0';
        found = is_build_tree(folder, status.st_uid);
    }
    return found;
}

static char *find(const char *name, const struct places *places)
{
    char *own = strchr(name, '/') ? NULL : own_file();
    char *slash = own ? strrchr(own, '/') : NULL;
    char *found = NULL;
    if (slash) {
        slash[1] = '\0';
        for (int i = 0; places->folders[i] && !found; i++) {
            found = usable(own, places->folders[i], name, places->access_mode);
        }
        if (!found && cut_to_build_tree(own)) {
            found = usable(own, places->build_folder, name, places->access_mode);
        }
    }
    free(own);
    return found;
}

char *paths_program(const char *name)
{
    return find(name, &program_places);
}

char *paths_module(const char *name)
{
    return find(name, &module_places);
}

char *paths_library(void)
{
    char *path = find(LIBRARY, &library_places);
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
