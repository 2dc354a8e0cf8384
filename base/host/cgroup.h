/* This process's control group, of version 1 or 2: its limits with those of the groups above it,
 * the CPU quota and the number of processes; and how often it ran out of memory. The parsers are
 * pure functions over the texts that the kernel shows. */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <keel/types.h>

enum cgroup_version { CGROUP_V1, CGROUP_V2 };

/* Processors that the quota allows, rounded up; 0: no quota, or none that can be read. */
unsigned cgroup_cpus(void);
/* Processes and threads that may still be made; UINT64_MAX: any number. */
uint64_t cgroup_pids(void);

/* Processes of it that the kernel has killed for want of memory; 0: none, or it does not say. */
uint64_t cgroup_oom_kills(void);

/* The path of the group that a controller ("cpu") governs, from the text of /proc/self/cgroup.
 * false: none. */
bool cgroup_parse_path(const char *text, enum cgroup_version version, const char *controller,
                       char *path, size_t size) KEEL_MUST_CHECK;
/* From the text of /proc/self/mountinfo: where that hierarchy is mounted, and which of its groups
 * is the root of the mount. false: nowhere. */
bool cgroup_parse_mount(const char *text, enum cgroup_version version, const char *controller,
                        char *root, char *point, size_t size) KEEL_MUST_CHECK;
/* The folder of a group: path below root's mount at point. A path that is not below root (another
 * cgroup namespace's) is taken for the mount itself. false: too long. */
bool cgroup_folder(const char *path, const char *root, const char *point, char *folder,
                   size_t size) KEEL_MUST_CHECK;
/* The text of cpu.max ("max 100000", "150000 100000"). Processors, rounded up; 0: no quota. */
unsigned cgroup_parse_cpu_max(const char *text);
/* The text of memory.events, or of memory.oom_control in version 1. */
uint64_t cgroup_parse_oom_kills(const char *text);

#endif
