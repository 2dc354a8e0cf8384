#include <config.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <tools/perf/place.h>
#include <unistd.h>

static unsigned number_from(const char *variable, unsigned otherwise)
{
    const char *text = getenv(variable);
    return text ? (unsigned) strtoul(text, NULL, 10) : otherwise;
}

void place_pin(struct place *place)
{
    cpu_set_t mine, one;
    unsigned rank = number_from("KEEL_LOCAL_RANK", 0), ranks = number_from("KEEL_LOCAL_SIZE", 1);
    if (sched_getaffinity(0, sizeof(mine), &mine) < 0) {
        return;
    }
    int count = CPU_COUNT(&mine);
    if (count < sysconf(_SC_NPROCESSORS_ONLN) || (unsigned) count < ranks) {
        return;
    }
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &mine) && rank-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            place->pinned_here = sched_setaffinity(0, sizeof(one), &one) == 0;
            return;
        }
    }
}

/* The text after the colon of the first line that begins with key, cut to the size. */
static void find_line(const char *path, const char *key, char *text, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "re");
    snprintf(text, size, "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');
        if (colon && strncmp(line, key, strlen(key)) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(text, size, "%.*s", (int) size - 1, colon + 1 + strspn(colon + 1, " \t"));
            break;
        }
    }
    if (file) {
        fclose(file);
    }
}

void place_describe(struct place *place)
{
    struct utsname system;
    const char *node = getenv("KEEL_NODE");
    uname(&system);
    snprintf(place->host, sizeof(place->host), "%.63s", node ? node : system.nodename);
    snprintf(place->kernel, sizeof(place->kernel), "%.31s %.63s", system.sysname, system.release);
    place->online = sysconf(_SC_NPROCESSORS_ONLN);
    find_line("/proc/cpuinfo", "model name", place->model, sizeof(place->model));
    find_line("/proc/self/status", "Cpus_allowed_list", place->processors,
              sizeof(place->processors));
}
