/* Processors: how many this process may use, and (through hwloc, loaded on first use) which cores
 * there are. */
#ifndef BASE_TOPO_H
#define BASE_TOPO_H

#include <keel/types.h>
#include <sched.h>

enum { TOPO_CPUS_MAX = 1 << 14 }; /* processors of a node, at most */

/* The affinity mask of size bytes, for CPU_FREE; NULL: it cannot be had. */
cpu_set_t *topo_affinity(size_t *size);
/* Usable processors: affinity mask and cgroup CPU quota (v1 and v2), at least 1. No hwloc. */
unsigned topo_usable_cpus(void);
/* The same in cores. */
unsigned topo_usable_cores(void);

/* Whether this process may use a processor of a NUMA node; true for one that is not known. */
bool topo_node_is_near(int node);
/* Sets flags[n] for each n of a list ("0,2-5"), which must all be below count. False: it is none;
 * *wrong is where. Pure. */
bool topo_list_parse(const char *text, bool *flags, uint32_t count, const char **wrong);
/* The same as a set of size bytes. */
bool topo_list_set(const char *list, cpu_set_t *set, size_t size);
/* Whether a list as the kernel writes it ("0-3,8") names a processor of a set of size bytes. */
bool topo_list_meets(const char *list, const cpu_set_t *set, size_t size);

/* What a node's processors are parts of, from the inside out. */
enum topo_level {
    TOPO_HWTHREAD,
    TOPO_CORE,
    TOPO_L1,
    TOPO_L2,
    TOPO_L3,
    TOPO_NUMA,
    TOPO_PACKAGE,
    TOPO_LEVELS
};

#define TOPO_NONE UINT32_MAX

/* One hardware thread. */
struct topo_thread {
    uint32_t os; /* the kernel's number */
    bool usable; /* in the affinity mask */
    /* The logical number, on its node, of the object of each level that it is in. TOPO_NONE: there
     * is none. A machine that does not tell about cores has one for each hardware thread. */
    uint32_t object[TOPO_LEVELS];
};

/* A node's processors: a flat table, in logical order, which travels and needs no hwloc. */
struct topo {
    struct topo_thread *threads; /* owned */
    uint32_t count;
    uint32_t quota; /* processors that the cgroup lets run at a time; 0: no limit */
};

/* This machine's, as this process may use it. Loads the hwloc module; reason gets the text of an
 * error: ORTE_ERR_NOT_AVAILABLE when it is not installed. */
int topo_read(struct topo *topo, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* One of no machine: hwloc's synthetic description ("package:2 core:4 pu:2"), or an XML file (its
 * name ends with .xml), all of it usable. hwloc, which files can crash, reads it in a child
 * process: this blocks until that has ended, at most a minute. ORTE_ERR_BAD_PARAM: it describes
 * nothing. */
int topo_describe(struct topo *topo, const char *source, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* What can be said of such a source without hwloc: that it is a regular file of at most 4 MiB, or
 * describes at most TOPO_DESCRIBED_MAX hardware threads, which hwloc takes long to think up.
 * ORTE_ERR_BAD_PARAM: it is not, and reason says why. */
enum { TOPO_DESCRIBED_MAX = 4096 };
int topo_source_check(const char *source, char *reason, size_t reason_size) KEEL_MUST_CHECK;
void topo_fini(struct topo *topo);

/* As text, malloc'd; NULL: no memory. */
char *topo_print(const struct topo *topo);
/* Pure; the text need not be trusted. ORTE_ERR_BAD_PARAM: it is none, or names a processor twice.
 */
int topo_parse(struct topo *topo, const char *text) KEEL_MUST_CHECK;
#define TOPO_HASH_TEXT 33 /* with its 0 */
/* Tells topologies apart by their text. */
void topo_hash(char hash[TOPO_HASH_TEXT], const char *text);

#endif
