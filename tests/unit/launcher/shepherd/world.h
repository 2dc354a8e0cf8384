/* A daemon of a test: a loop, a shepherd, and what the shepherd said. */
#ifndef TESTS_LAUNCHER_WORLD_H
#define TESTS_LAUNCHER_WORLD_H

#include <launcher/shepherd/shepherd.h>

enum { WORLD_PROCS = 512, WORLD_TEXT = 4096 };

struct world_proc {
    bool started, failed, exited;
    pid_t pid;
    int fds[PROC_FDS];
    enum start_stage stage;
    int error, status;
    char text[WORLD_TEXT]; /* what it wrote to its output pipe, if that is read */
    size_t text_size;
};

struct world {
    struct loop *loop;
    struct shepherd *shepherd;
    struct world_proc procs[WORLD_PROCS]; /* by id */
    unsigned started, failed, exited;
    bool lost;
};

/* Starts a shepherd and a loop for it. Everything is asserted. */
void world_open(struct world *world);
void world_open_with(struct world *world, int (*entry)(void)); /* of shepherd_start_with */
void world_attach(struct world *world);                        /* its shepherd, again */
/* Ends them and closes what is open. */
void world_close(struct world *world);

/* App number `app`: /bin/sh -c script, with a pipe for its output. */
void world_define_sh(struct world *world, uint32_t app, enum proc_kind kind, const char *script);
/* Starts process `id` of it, with input from nowhere. */
void world_start(struct world *world, uint32_t app, uint32_t id);

/* Runs the loop until a counter has reached a number; asserts that it does within the time. */
void world_run_until(struct world *world, const unsigned *counter, unsigned number, unsigned ms);
/* Reads a process's output to its end, or to its first newline. Returns the text. */
const char *world_read(struct world *world, uint32_t id);
const char *world_read_line(struct world *world, uint32_t id);

/* Waits until a process is gone for good, reaping whatever becomes a child of this process. */
bool gone_within(pid_t pid, unsigned ms);
bool missing_within(const char *path, unsigned ms);

#endif
