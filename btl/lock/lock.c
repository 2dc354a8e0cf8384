#include <config.h>

#include <btl/lock/lock.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

bool btl_lock_used;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint waiting; /* threads */
static _Thread_local unsigned holds;

void btl_lock_take(void)
{
    if (holds == 0 && pthread_mutex_trylock(&mutex) != 0) {
        atomic_fetch_add_explicit(&waiting, 1, memory_order_relaxed);
        pthread_mutex_lock(&mutex);
        atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
    }
    holds++;
}

bool btl_lock_try(void)
{
    if (holds == 0 && pthread_mutex_trylock(&mutex) != 0) {
        return false;
    }
    holds++;
    return true;
}

void btl_lock_drop(void)
{
    if (--holds == 0) {
        pthread_mutex_unlock(&mutex);
    }
}

unsigned btl_lock_holds(void)
{
    return holds;
}

unsigned btl_lock_leave(void)
{
    unsigned mine = holds;
    if (mine > 0) {
        holds = 1;
        btl_lock_drop();
    }
    return mine;
}

void btl_lock_return(unsigned mine)
{
    if (mine > 0) {
        btl_lock_take();
        holds = mine;
    }
}

void btl_lock_give_way(void)
{
    if (holds == 0 && atomic_load_explicit(&waiting, memory_order_relaxed) > 0) {
        sched_yield();
    }
}
