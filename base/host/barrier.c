#include <config.h>

#include <base/host/barrier.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool barrier_enlist(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

bool barrier_everywhere(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}
