/* What --help, --version and --completion print, on standard output. */
#ifndef LAUNCHER_REQUEST_OPTIONS_HELP_H
#define LAUNCHER_REQUEST_OPTIONS_HELP_H

void help_print(void);
void version_print(void);
void completion_print(void);

#endif
