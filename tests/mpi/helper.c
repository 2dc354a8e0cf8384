/* helper SIZE LOCAL COMMAND: runs a command before MPI_Init, another process, and once more behind
 * it; both must end with 0. */
#include "mpi_test.h"

#include <sys/wait.h>
#include <unistd.h>

static int run(const char *command)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    int before = argc > 3 ? run(argv[3]) : -1;
    struct mpi_test test = test_begin(&argc, &argv);
    test_check(&test, before == 0, "the command before MPI_Init");
    test_check(&test, run(argv[3]) == 0, "the command behind it");
    return test_end(&test, "helper");
}
