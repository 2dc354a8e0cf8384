#include <config.h>

#include <base/settings/fault.h>
#include <btl/sm/cma.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* One call copies at most this much, so that a signal is not held up for long. */
#define STEP ((size_t) 1 << 30)

static ssize_t copy_step(pid_t pid, bool write, void *local, uint64_t remote, size_t size)
{
    struct fault fault = fault_at("btl.sm.cma");
    if (fault.action == FAULT_ERROR) {
        errno = (int) fault.value;
        return -1;
    }
    struct iovec here = {.iov_base = local, .iov_len = size};
    struct iovec there = {.iov_base = (void *) (uintptr_t) remote, .iov_len = size};
    return write ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                 : process_vm_readv(pid, &here, 1, &there, 1, 0);
}

int sm_cma_copy(struct sm_process *process, bool write, void *local, uint64_t remote, size_t size)
{
    if (sm_process_gone_lately(process)) {
        return ORTE_ERR_UNREACH;
    }
    if (!sm_process_held(process)) {
        return ORTE_ERR_NOT_AVAILABLE;
    }
    size_t done = 0;
    while (done < size) {
        size_t step = size - done < STEP ? size - done : STEP;
        ssize_t copied = copy_step(process->pid, write, (char *) local + done, remote + done, step);
        if (copied > 0) {
            done += (size_t) copied;
        } else if (copied < 0 && errno == ESRCH) {
            return ORTE_ERR_UNREACH;
        } else if (copied < 0 && (errno == EPERM || errno == ENOSYS)) {
            return ORTE_ERR_NOT_AVAILABLE;
        } else {
            return ORTE_ERROR;
        }
    }
    return ORTE_SUCCESS;
}

bool sm_cma_probe(struct sm_process *process, uint64_t nonce_address,
                  const uint8_t nonce[SM_NONCE_BYTES])
{
    uint8_t found[SM_NONCE_BYTES];
    return sm_cma_copy(process, false, found, nonce_address, sizeof(found)) == ORTE_SUCCESS &&
           memcmp(found, nonce, sizeof(found)) == 0;
}
