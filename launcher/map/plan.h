/* The mapping: what is asked for, on the nodes that there are. docs/mapping.md has the rules. */
#ifndef LAUNCHER_MAP_PLAN_H
#define LAUNCHER_MAP_PLAN_H

#include <base/data/hash.h>
#include <launcher/request/nodes/allocation.h>
#include <launcher/request/run_request.h>

struct map_node {
    char *name;                   /* owned */
    char *user;                   /* owned: whom the agent is to log in as; NULL: its choice */
    uint32_t number;              /* among those of the allocation or the hostfile: K of "+nK" */
    uint32_t slots;               /* 0: its topology tells */
    uint32_t slots_max;           /* no more ranks, ever; 0: as many as are allowed */
    bool slots_explicit;          /* given by the user: more ranks need --oversubscribe */
    bool local;                   /* keelrun's own node: no keeld */
    const struct topo *topo;      /* borrowed; NULL: not known */
    struct hash_link link;        /* in the plan's by_name */
    struct hash_link number_link; /* in its by_number */
};

/* Where every rank goes. */
struct job_plan {
    struct map_node *nodes; /* owned */
    uint32_t node_count;
    uint32_t idle_count; /* nodes behind these that may be used, and have no part in the job yet */
    struct hash_table by_name, by_number; /* the nodes */
    char *here;                           /* owned: what this machine calls itself */
    struct map_node *local;               /* of the nodes: this machine; NULL: it is none of them */
    uint32_t rank_count;
    uint32_t *node_of;       /* owned, as the next three; by rank */
    uint32_t *app_of;        /* by rank */
    uint32_t *local_rank_of; /* by rank; they follow the ranks' numbers */
    char **cpus; /* NULL-ended, by rank: the kernel's numbers of the processors that it is bound to,
                  * "0,2-5"; "": it is not bound */
    char *note;  /* owned: what the user should know of it; NULL: nothing */
    uint32_t universe;    /* slots of all nodes, at least rank_count */
    bool binding_dropped; /* its ranks are not bound though they were to be; note says why */
    bool oversubscribed; /* more ranks than slots on some node, or than this machine has processors:
                          * ranks shall yield */
};

/* The nodes, without ranks: the allocation's, else the hostfile's, else those of --host, else this
 * one; who follows in this row chooses among those of who comes before. Pure, but for this
 * machine's name, and its processors when no slots are given. ORTE_ERR_NOT_FOUND: a host that was
 * not allocated; ORTE_ERR_OUT_OF_RESOURCE: more slots than were. */
int job_plan_nodes(struct job_plan *plan, const struct run_request *request,
                   const struct allocation *allocation, char *reason,
                   size_t reason_size) KEEL_MUST_CHECK;
/* Must nodes[i].topo be set before the ranks can be mapped? */
bool job_plan_needs_topologies(const struct job_plan *plan, const struct run_request *request);
/* Maps, numbers and binds the ranks. ORTE_ERR_OUT_OF_RESOURCE: they do not fit; reason says how
 * many of what there are, and how to allow it. ORTE_ERR_NOT_FOUND: a host or an object that is not
 * there. ORTE_ERR_BAD_PARAM: the words do not go together. Pure, but for this machine's
 * processors. */
int job_plan_map(struct job_plan *plan, const struct run_request *request, char *reason,
                 size_t reason_size) KEEL_MUST_CHECK;
/* What is left of a job that runs, for ranks that are added to it. Borrowed. */
struct plan_use {
    const bool *ended;    /* by rank: its slot and its processors are free again */
    uint32_t ended_count; /* ranks above it live */
    const bool *closed;   /* by node: it takes none of them */
    bool *unknown; /* by node, false before: ranks would go there, once its topology is known */
    uint32_t app;  /* the number of the program */
    bool again;    /* ppr begins anew while ranks are left */
};
/* Maps, numbers and binds the request's one program, behind the ranks of the plan. unbound: set to
 * how many of them are not bound, for all processors have ranks. ORTE_ERR_NOT_AVAILABLE:
 * use->unknown says which topologies it needs; others may be needed when these are known. Else
 * errors as of job_plan_map. Then the plan is as before. Pure. */
int job_plan_extend(struct job_plan *plan, const struct run_request *request,
                    const struct plan_use *use, uint32_t *unbound, char *reason,
                    size_t reason_size) KEEL_MUST_CHECK;
/* Memory for more ranks behind those of the plan; the plan is as before. False: there is none. */
bool job_plan_reserve(struct job_plan *plan, uint32_t more) KEEL_MUST_CHECK;
/* Nodes without ranks, of which no daemon is needed, become idle. */
int job_plan_set_idle(struct job_plan *plan) KEEL_MUST_CHECK;
/* Nodes that come later, behind those that there are; one that is there gets these slots, and this
 * user if one is named. A host without a number of slots has one; one that is named again, by
 * another name, adds slots. places: room for hosts->count, set to where they are. No effect on
 * failure, but for slots and users of nodes that are there. The plan has no idle nodes. */
int job_plan_add_nodes(struct job_plan *plan, const struct node_list *hosts,
                       uint32_t *places) KEEL_MUST_CHECK;
void job_plan_fini(struct job_plan *plan);

/* The node that a host's name, or "+nK", stands for; NULL: none. */
struct map_node *job_plan_find(const struct job_plan *plan, const char *name);
/* What was meant by a host that is not there: "; the nearest is alpha", or nothing, as for n17: n16
 * and n18 are other hosts. */
void job_plan_suggest(const struct job_plan *plan, const char *name, char *text, size_t size);
/* Nodes that were moved are found again. */
int job_plan_index(struct job_plan *plan) KEEL_MUST_CHECK;

#endif
