#include <config.h>

#include <btl/modules/entry.h>
#include <btl/progress/progress.h>
#include <btl/progress/sleep.h>
#include <poll.h>

size_t btl_sleep_count(void)
{
    size_t modules;
    (void) btl_entries(&modules);
    return modules;
}

bool btl_sleep_arm(struct pollfd *watch)
{
    size_t modules;
    struct btl_module_entry **entries = btl_entries(&modules);
    /* Another thread is in a callback of progress, and waits there; or a tap is polled for. */
    if (btl_progress_is_open() || btl_taps_keep()) {
        return false;
    }
    for (size_t i = 0; i < modules; i++) {
        const struct keel_btl_ext *ext = &entries[i]->ext;
        int fd = ext->wait_fd ? ext->wait_fd(entries[i]->module) : OPAL_ERR_NOT_SUPPORTED;
        if (fd < 0 || ext->wait_arm(entries[i]->module) != OPAL_SUCCESS) {
            return false;
        }
        watch[i] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    return true;
}
