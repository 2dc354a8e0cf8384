/* What --help, --version, --parameters and --completion print, on standard output. */
#ifndef LAUNCHER_REQUEST_OPTIONS_HELP_H
#define LAUNCHER_REQUEST_OPTIONS_HELP_H

void help_print(void);
void version_print(void);
void parameters_print(void); /* for a program */
void completion_print(void);

#endif
