/* A tool: a process that nobody launched joins a running job from outside. It knows the HNP's
 * contact string and holds the tool key, is given a name, and talks to daemons and ranks over the
 * HNP. */
#ifndef BOOTSTRAP_TOOL_H
#define BOOTSTRAP_TOOL_H

#include <bootstrap/backend.h>
#include <keel/tool.h>

/* Where a tool goes, and with what. */
struct tool_door {
    char *contact; /* owned: keelrun's contact string */
    orte_process_name_t hnp;
    uint8_t key[KEY_BYTES];
};

/* The contact string that options or the parameter tool_contact name; "file:PATH" is the first line
 * of a file. malloc'd; NULL and ORTE_SUCCESS: this process is no tool. */
int tool_contact(const char *option, char **contact, char *reason,
                 size_t reason_size) KEEL_MUST_CHECK;
/* Takes the contact string and finds the key that goes with it. */
int tool_door_open(struct tool_door *door, char *contact, char *reason,
                   size_t reason_size) KEEL_MUST_CHECK;
void tool_door_close(struct tool_door *door); /* wipes the key */

/* Asks the HNP for a name, by an RML of its own on the loop, which has a thread. Blocks. */
int tool_ask_name(struct loop *loop, const struct tool_door *door, orte_process_name_t *name,
                  char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* The back end of a tool that has its name. The door is borrowed for the call. */
int tool_create(struct backend **backend, struct rml *rml, struct loop *loop,
                const struct tool_door *door, const struct self *self, char *reason,
                size_t reason_size) KEEL_MUST_CHECK;
/* The job that was launched, and its ranks at the moment. Blocks, running callbacks. */
int tool_job(struct backend *backend, orte_jobid_t *job, uint32_t *ranks) KEEL_MUST_CHECK;
/* keel_tool_look. */
int tool_look(struct backend *backend, bool stacks, uint64_t limit_us, const struct keel_look *look,
              void *arg) KEEL_MUST_CHECK;

#endif
