/* no-single-copy PROGRAM [ARGUMENT...]: runs it where the kernel refuses process_vm_readv and
 * process_vm_writev, by a seccomp filter, as containers have one. 77: there are no filters here. */
#include <config.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int refuse(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
               ? 0
               : -1;
}

int main(int argc, char **argv)
{
    char from = 'x', to = 'y';
    struct iovec here = {&to, 1}, there = {&from, 1};
    if (argc < 2) {
        fprintf(stderr, "usage: no-single-copy PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    if (refuse() < 0) {
        fprintf(stderr, "no-single-copy: no filter: %s\n", strerror(errno));
        return 77;
    }
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != -1 || errno != EPERM) {
        fprintf(stderr, "no-single-copy: the filter lets a copy pass\n");
        return 1;
    }
    execv(argv[1], argv + 1);
    fprintf(stderr, "no-single-copy: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
