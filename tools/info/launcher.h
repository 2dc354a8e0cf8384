/* keelrun, asked for the parameters that it alone has. */
#ifndef TOOLS_INFO_LAUNCHER_H
#define TOOLS_INFO_LAUNCHER_H

#include <stddef.h>

/* What the keelrun beside this program prints with --parameters, malloc'd; NULL: reason says why
 * there is nothing. */
char *launcher_parameters(char *reason, size_t size);

#endif
