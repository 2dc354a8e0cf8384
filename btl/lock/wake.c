#include <config.h>

#include <btl/lock/wake.h>
#include <unistd.h>

struct btl_wake btl_wake = {.fd = -1};

void btl_wake_ring(void)
{
    const uint64_t one = 1;
    ssize_t written = write(btl_wake.fd, &one, sizeof(one));
    (void) written; /* full: it is awake already */
}

void btl_wake_stir(void)
{
    if (btl_wake.sleeps) {
        btl_wake.sleeps = false;
        btl_wake_ring();
    }
}

/* A poll may take what a descriptor was to tell, and leaves its module no longer armed. */
void btl_wake_note_poll(void)
{
    btl_wake.polls++;
    btl_wake_stir();
}
