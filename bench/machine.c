#include <config.h>

#include <bench/machine.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 500, BUSY_PERCENT = 5 };
static const double busy_load = 0.5; /* of one minute, for the whole machine */

void machine_use_read(struct machine_use *use)
{
    double user = 0, nice = 0, system = 0, idle, wait, interrupts = 0, soft = 0, stolen = 0;
    struct timespec now;
    FILE *file = fopen("/proc/stat", "re");
    if (file) {
        (void) !fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle,
                       &wait, &interrupts, &soft, &stolen);
        fclose(file);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    use->busy_ms =
        (user + nice + system + interrupts + soft + stolen) * 1e3 / (double) sysconf(_SC_CLK_TCK);
    use->wall_ms = (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

double machine_use_by_others(const struct machine_use *since, double own_ms)
{
    struct machine_use now;
    machine_use_read(&now);
    double all_ms = (now.wall_ms - since->wall_ms) * (double) sysconf(_SC_NPROCESSORS_ONLN);
    double others_ms = now.busy_ms - since->busy_ms - own_ms;
    return others_ms > 0 && all_ms > 0 ? 100 * others_ms / all_ms : 0;
}

/* The first line that matches "KEY : TEXT" in a file of /proc, or "unknown". */
static void find_line(const char *path, const char *key, char *text, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "re");
    snprintf(text, size, "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) == 0 && colon) {
            snprintf(text, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
}

static void read_setting(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file || !fgets(text, (int) size, file)) {
        snprintf(text, size, "not there");
    }
    if (file) {
        fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
}

void machine_describe(FILE *out)
{
    struct machine_use before;
    struct utsname system;
    char model[128], affinity[128], autogroup[16];
    double load = 0;
    machine_use_read(&before);
    uname(&system);
    find_line("/proc/cpuinfo", "model name", model, sizeof(model));
    find_line("/proc/self/status", "Cpus_allowed_list", affinity, sizeof(affinity));
    read_setting("/proc/sys/kernel/sched_autogroup_enabled", autogroup, sizeof(autogroup));
    getloadavg(&load, 1);
    poll(NULL, 0, LOOK_MS);
    double others = machine_use_by_others(&before, 0);
    time_t now = time(NULL);
    char date[64];
    strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime(&now));
    fprintf(out, "date        %s\n", date);
    fprintf(out, "machine     %s, %ld processors, affinity %s, nice %d\n", model,
            sysconf(_SC_NPROCESSORS_ONLN), affinity, getpriority(PRIO_PROCESS, 0));
    fprintf(out, "kernel      %s %s, sched_autogroup_enabled %s\n", system.sysname, system.release,
            autogroup);
    fprintf(out, "load        %.2f in the last minute, %.0f %% of the processors busy now\n", load,
            others);
    if (load > busy_load || others > BUSY_PERCENT) {
        fprintf(out, "WARNING     the machine is not idle: times are too long, ratios uncertain\n");
    }
}

void machine_describe_program(FILE *out, const char *name, const char *command)
{
    char shell[512], line[256] = "";
    snprintf(shell, sizeof(shell), "'%s' --version 2>&1", command);
    FILE *pipe = popen(shell, "re");
    while (pipe && fgets(line, sizeof(line), pipe) &&
           (*line == '\n' || !strpbrk(line, "0123456789"))) {
    }
    if (pipe) {
        pclose(pipe);
    }
    fprintf(out, "%-11s", name);
    for (char *word = strtok(line, " \t\n"); word; word = strtok(NULL, " \t\n")) {
        fprintf(out, " %s", word);
    }
    fputc('\n', out);
}
