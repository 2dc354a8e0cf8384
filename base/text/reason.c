#include <config.h>

#include <base/text/control.h>
#include <base/text/reason.h>
#include <stdarg.h>
#include <stdio.h>

int reason_set(int status, char *reason, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, size, format, arguments);
    va_end(arguments);
    return status;
}

void reason_printable(char *text)
{
    for (; *text; text++) {
        for (size_t bytes = control_at(text); bytes > 0; bytes--) {
            text[bytes - 1] = '?';
        }
    }
}
