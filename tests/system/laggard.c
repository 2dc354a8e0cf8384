/* laggard: preloaded into a program of Open MPI's, it makes the thread that runs Open MPI's own
 * events slow, as where processors are short: the thread runs for 200 ms each time before it sees
 * an event. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static __thread bool slow;

struct start {
    void *(*routine)(void *);
    void *arg;
};

static void *run(void *arg)
{
    struct start start = *(struct start *) arg;
    Dl_info info;
    free(arg);
    slow = dladdr((void *) (size_t) start.routine, &info) && strstr(info.dli_fname, "libopen-pal");
    return start.routine(start.arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                   void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
    struct start *start = malloc(sizeof(*start));
    *(void **) &real = dlsym(RTLD_NEXT, "pthread_create");
    *start = (struct start){routine, arg};
    return real(thread, attributes, run, start);
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    static int (*real)(struct pollfd *, nfds_t, int);
    *(void **) &real = dlsym(RTLD_NEXT, "poll");
    int result = real(fds, count, timeout);
    for (long end = now_ms() + 200; slow && now_ms() < end;) {
    }
    return result;
}
