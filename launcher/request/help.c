#include <config.h>

#include <launcher/request/help.h>
#include <stdio.h>

static const char help_text[] =
    "Usage: keelrun [OPTION]... PROGRAM [ARGUMENT]...\n"
    "       keelrun [OPTION]... PROGRAM [ARGUMENT]... : [OPTION]... PROGRAM [ARGUMENT]...\n"
    "\n"
    "Starts the ranks of a parallel program, wires them up, forwards their input,\n"
    "output and signals, and ends when they have ended.\n"
    "\n"
    "What to run\n"
    "  -n, -np, -c N           so many ranks (default: as many as there are free slots)\n"
    "  -x NAME[=VALUE]         give the ranks this environment variable, with this value\n"
    "                          or keelrun's own; NAME* takes all that begin so. Repeatable\n"
    "  --wdir, -wd DIR         start them in this folder\n"
    "  :                       begins another program of the same job, with its own\n"
    "                          -n, -x and --wdir\n"
    "  --                      ends the options\n"
    "  --noprefix              leave the ranks' LD_LIBRARY_PATH as it is\n"
    "\n"
    "Where to run it\n"
    "  --host, -H NAME[:SLOTS],...  on these nodes\n"
    "  --simulate NODESxSLOTS  on simulated nodes of this machine, each with a daemon,\n"
    "                          a name and a session folder of its own\n"
    "  --oversubscribe         allow more ranks than slots, without a warning\n"
    "  --bind-to core|none     give each rank a core of its own (default: none)\n"
    "  --report-bindings       print where each rank is bound\n"
    "\n"
    "Output\n"
    "  --tag-output            begin each line with [job,rank]<stdout>:\n"
    "  --timestamp-output      begin each line with the time\n"
    "  --output-filename DIR   write to DIR/JOB/rank.RANK/stdout and stderr instead\n"
    "  --pty, --no-pty         give the ranks a terminal as stdout, so that they show each\n"
    "                          line at once, or never (default: if keelrun's is one)\n"
    "\n"
    "Control\n"
    "  --report-uri FILE       write keelrun's contact string, for tools, to a file, which\n"
    "                          is removed at the end; - is stdout, + stderr\n"
    "  --timeout SECONDS       end the job after this time, with exit code 124\n"
    "  --enable-recovery       go on without ranks that fail and nodes that are lost\n"
    "  --mca NAME VALUE        set a parameter for keelrun and for every rank\n"
    "                          (keelrun(1) and docs/parameters.md list the parameters)\n"
    "  --help, -h              print this text\n"
    "  --version, -V           print the version\n"
    "\n"
    "Examples\n"
    "  keelrun -n 4 ./solver input.dat\n"
    "  keelrun -n 1 ./master : -n 8 ./worker --fast\n"
    "  keelrun --simulate 3x2 -n 6 --tag-output ./handoff\n"
    "  keelrun -n 2 --mca btl self,tcp -x OMP_NUM_THREADS=4 ./app\n"
    "\n"
    "Exit code: 0, or that of the first rank that failed (128 + its signal);\n"
    "127 program not found, 126 not executable, 2 wrong usage, 124 timeout,\n"
    "125 the runtime failed, 130 interrupted.\n";

void help_print(void)
{
    fputs(help_text, stdout);
}

void version_print(void)
{
    printf("keelrun (Keel) %s\n", PACKAGE_VERSION);
}
