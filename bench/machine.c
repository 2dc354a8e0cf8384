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

enum { LOOK_MS = 500, BUSY_PERCENT = 5, SPIN_MS = 5 };
static const double gap_ms = 0.02; /* a tick of the kernel takes less */

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static double own_ms(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

void machine_use_read(struct machine_use *use)
{
    double user = 0, nice = 0, system = 0, idle, wait, interrupts = 0, soft = 0, stolen = 0;
    FILE *file = fopen("/proc/stat", "re");
    if (file) {
        (void) !fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle,
                       &wait, &interrupts, &soft, &stolen);
        fclose(file);
    }
    use->busy_ms =
        (user + nice + system + interrupts + soft + stolen) * 1e3 / (double) sysconf(_SC_CLK_TCK);
    use->own_ms = own_ms(RUSAGE_SELF) + own_ms(RUSAGE_CHILDREN);
    use->wall_ms = now_ms();
}

/* Not cut at 0: ticks of 10 ms are coarse, and errors of many whiles should cancel out. */
void machine_noise_add(struct machine_noise *noise, const struct machine_use *since)
{
    struct machine_use now;
    machine_use_read(&now);
    noise->others_ms += now.busy_ms - since->busy_ms - (now.own_ms - since->own_ms);
    noise->all_ms += (now.wall_ms - since->wall_ms) * (double) sysconf(_SC_NPROCESSORS_ONLN);
}

static void spin(struct machine_noise *noise)
{
    double begin = now_ms(), last = begin;
    while (last - begin < SPIN_MS) {
        double now = now_ms();
        noise->lost_ms += now - last > gap_ms ? now - last : 0;
        last = now;
    }
    noise->spun_ms += last - begin;
}

void machine_noise_spin(struct machine_noise *noise)
{
    cpu_set_t mine, one;
    if (sched_getaffinity(0, sizeof(mine), &mine) < 0) {
        return;
    }
    for (int i = 0, spun = 0; i < CPU_SETSIZE && spun < 2; i++) {
        if (CPU_ISSET(i, &mine)) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            (void) !sched_setaffinity(0, sizeof(one), &one);
            spin(noise);
            spun++;
        }
    }
    (void) !sched_setaffinity(0, sizeof(mine), &mine);
}

void machine_noise_join(struct machine_noise *noise, const struct machine_noise *more)
{
    noise->others_ms += more->others_ms;
    noise->all_ms += more->all_ms;
    noise->lost_ms += more->lost_ms;
    noise->spun_ms += more->spun_ms;
}

double machine_noise_percent(const struct machine_noise *noise)
{
    double others = noise->all_ms > 0 ? noise->others_ms / noise->all_ms : 0;
    double lost = noise->spun_ms > 0 ? noise->lost_ms / noise->spun_ms : 0;
    double share = others > lost ? others : lost;
    return share > 0 ? 100 * share : 0;
}

bool machine_is_noisy(const struct machine_noise *noise)
{
    return machine_noise_percent(noise) > BUSY_PERCENT;
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
    struct machine_noise noise = {.all_ms = 0};
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
    machine_noise_add(&noise, &before);
    machine_noise_spin(&noise);
    double others = machine_noise_percent(&noise);
    time_t now = time(NULL);
    char date[64];
    strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime(&now));
    fprintf(out, "date        %s\n", date);
    fprintf(out, "machine     %s, %ld processors, affinity %s, nice %d\n", model,
            sysconf(_SC_NPROCESSORS_ONLN), affinity, getpriority(PRIO_PROCESS, 0));
    fprintf(out, "caches      %ld KiB, %ld KiB and %ld KiB\n",
            sysconf(_SC_LEVEL1_DCACHE_SIZE) / 1024, sysconf(_SC_LEVEL2_CACHE_SIZE) / 1024,
            sysconf(_SC_LEVEL3_CACHE_SIZE) / 1024);
    fprintf(out, "kernel      %s %s, sched_autogroup_enabled %s\n", system.sysname, system.release,
            autogroup);
    fprintf(out, "load        %.2f in the last minute, %.0f %% of the processors busy now\n", load,
            others);
    if (machine_is_noisy(&noise)) {
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
