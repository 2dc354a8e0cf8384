/* What is printed of a job: for people, and for programs. */
#ifndef TOOLS_PS_SHOW_H
#define TOOLS_PS_SHOW_H

#include <keel/tool.h>
#include <stdio.h>

/* A job that is being printed. */
struct shown {
    FILE *out;    /* borrowed */
    char **nodes; /* owned: their names, by number */
    size_t node_count;
    bool counters;    /* are asked for */
    const char *part; /* that is open: "nodes", "ranks", "stacks"; NULL: none */
};

struct show {
    struct keel_look look; /* its arg is a struct shown */
    void (*end)(struct shown *shown);
    /* A job of which no more is known than this. */
    void (*other)(FILE *out, const char *id, const char *state);
    const char *before, *between, *after, *none; /* of a list of jobs */
};
extern const struct show show_text, show_json;

/* Keeps a node's name; the name of one; "?": not known. */
void shown_add_node(struct shown *shown, const struct keel_node_state *node);
const char *shown_node(const struct shown *shown, uint32_t number);
void shown_fini(struct shown *shown);

#endif
