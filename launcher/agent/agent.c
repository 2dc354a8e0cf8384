#include <config.h>

#include <launcher/agent/agent.h>

#include <base/data/crypto.h>
#include <base/data/strings.h>
#include <base/net/sock.h>
#include <errno.h>
#include <launcher/shepherd/program.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool agent_split(char ***words, const char *command)
{
    static const char blanks[] = " \t";
    for (command += strspn(command, blanks); *command; command += strspn(command, blanks)) {
        size_t size = strcspn(command, blanks);
        if (!strings_add(words, strndup(command, size))) {
            return false;
        }
        command += size;
    }
    return true;
}

int agent_run(struct shepherd *shepherd, uint32_t id, const struct agent_command *command)
{
    char program[PATH_MAX];
    int found = program_resolve(command->words[0], program, sizeof(program));
    if (found < 0) {
        return found;
    }
    struct start_app app = {
        .kind = command->kind,
        .program = program,
        .argv = command->words,
        .env = command->env ? command->env : environ,
        .out = STDIO_NULL,
        .err = command->err,
    };
    struct start_proc proc = {.id = id, .in = STDIO_PIPE};
    shepherd_define_app(shepherd, AGENT_APP, &app);
    shepherd_start_proc(shepherd, AGENT_APP, &proc);
    return 0;
}

int agent_tell(int input, char *text, size_t size)
{
    int error = fd_write_all(input, text, size);
    crypto_wipe(text, size);
    free(text);
    fd_close(&input);
    return error == -EPIPE ? 0 : error;
}

void agent_describe_end(char *text, size_t size, int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        snprintf(text, size, "was killed by signal %d", WTERMSIG(wait_status));
    } else {
        snprintf(text, size, "ended with code %d", WEXITSTATUS(wait_status));
    }
}

/* What a shell returns for a program that it does not find, or that cannot be executed. */
enum { CODE_NOT_FOUND = 127, CODE_NOT_EXECUTABLE = 126 };

void agent_explain_end(char *text, size_t size, int wait_status, const char *program,
                       const char *said)
{
    char how[64];
    int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    const char *colon = said ? ": " : "";
    agent_describe_end(how, sizeof(how), wait_status);
    if (code == CODE_NOT_FOUND) {
        snprintf(text, size,
                 "there is no %s there, or a library that it needs is missing (code %d)%s%s: Keel "
                 "has to "
                 "be installed at the same place, or where --prefix or --launch-agent says",
                 program, code, colon, said ? said : "");
    } else if (code == CODE_NOT_EXECUTABLE) {
        snprintf(text, size, "%s cannot be executed there (code %d)%s%s", program, code, colon,
                 said ? said : "");
    } else if (said) {
        snprintf(text, size, "%s (the agent %s before the daemon called home)", said, how);
    } else {
        snprintf(text, size, "the agent %s before the daemon called home", how);
    }
}
