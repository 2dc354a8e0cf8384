/* What keelrun --help and --version print. */
#ifndef LAUNCHER_REQUEST_HELP_H
#define LAUNCHER_REQUEST_HELP_H

void help_print(void);
void version_print(void);

#endif
