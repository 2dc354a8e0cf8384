/* Each rank logs a line to each stream. */
#include "pmix_test.h"

static void log_line(const char *key, const char *stream, const char *end_of_line)
{
    char line[64];
    pmix_info_t info;
    snprintf(line, sizeof(line), "rank %u logs to %s%s", me.rank, stream, end_of_line);
    PMIX_INFO_LOAD(&info, key, line, PMIX_STRING);
    expect(PMIX_SUCCESS, PMIx_Log(&info, 1, NULL, 0), "PMIx_Log");
}

int main(void)
{
    begin();
    log_line(PMIX_LOG_STDOUT, "stdout", "");
    log_line(PMIX_LOG_STDERR, "stderr", "\n");
    return end("log");
}
