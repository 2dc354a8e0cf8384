/* goodbye FIFO: a PMIx client that tells its process number, waits for a line, and ends well. */
#include <fcntl.h>
#include <pmix.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    pmix_proc_t me;
    char line[16];
    int fd;
    if (argc != 2 || PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) {
        return 2;
    }
    fd = open(argv[1], O_WRONLY);
    dprintf(fd, "%d\n", (int) getpid());
    close(fd);
    fd = open(argv[1], O_RDONLY);
    if (read(fd, line, sizeof(line)) < 0) {
        return 3;
    }
    PMIx_Finalize(NULL, 0); /* its answer may come too late: 2 s */
    return 0;
}
