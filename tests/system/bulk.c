/* One large message from rank 0 to the last rank, over the daemons between them, and what it costs
 * in memory. Usage: bulk MIB FOLDER alloc|into: prints "ready" and waits for FOLDER/go; each of the
 * two then prints "rank N: over by K KiB", K being how much its peak of resident memory grew beyond
 * the message; the receiver prints "done" and waits for FOLDER/end. */
#include <keel/keel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 200, TAG_END };

static size_t size;

static long peak_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    while (file && fgets(line, sizeof(line), file) && sscanf(line, "VmHWM: %ld", &kib) != 1) {
    }
    if (file) {
        fclose(file);
    }
    return kib;
}

static void wait_for_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    while (access(path, F_OK) != 0) {
        keel_progress();
        usleep(1000);
    }
}

static void report(long before)
{
    printf("rank %u: over by %ld KiB\n", keel_my_name()->vpid,
           peak_kib() - before - (long) (size >> 10));
    fflush(stdout);
}

static int send_it(orte_process_name_t *to)
{
    long before = peak_kib();
    char *bytes = malloc(size);
    if (!bytes) {
        return 3;
    }
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char) (i >> 10);
    }
    struct iovec part = {bytes, size};
    int sent = orte_rml.send(to, &part, 1, TAG, KEEL_RML_DELIVERED);
    report(before);
    free(bytes);
    return sent == (int) size ? 0 : 4;
}

static int receive_it(orte_process_name_t *from, int flags)
{
    long before = peak_kib();
    struct iovec part = {flags ? NULL : malloc(size), size};
    int got = orte_rml.recv(from, &part, 1, TAG, flags);
    const char *bytes = part.iov_base;
    report(before);
    for (size_t i = 0; i < size && got == (int) size; i++) {
        if (bytes[i] != (char) (i >> 10)) {
            return 5;
        }
    }
    free(part.iov_base);
    return got == (int) size ? 0 : 6;
}

int main(int argc, char **argv)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    options.data_plane = false;
    if (argc < 4 || keel_init(&options) != ORTE_SUCCESS) {
        return 2;
    }
    size = (size_t) atoi(argv[1]) << 20;
    uint32_t me = keel_my_name()->vpid, last = keel_job_size() - 1;
    orte_process_name_t peer = {keel_my_name()->jobid, me == 0 ? last : 0};
    int code = 0;
    if (keel_fence() != ORTE_SUCCESS) {
        return 7;
    }
    if (me == 0) {
        printf("ready\n");
        fflush(stdout);
    }
    if (me == 0 || me == last) {
        wait_for_file(argv[2], "go");
        code = me == 0 ? send_it(&peer)
                       : receive_it(&peer, strcmp(argv[3], "alloc") == 0 ? ORTE_RML_ALLOC : 0);
    }
    if (me == last) {
        printf("done %d\n", code);
        fflush(stdout);
        wait_for_file(argv[2], "end");
    }
    (void) keel_finalize();
    return code;
}
