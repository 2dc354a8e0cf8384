/* Runs a fuzz target without libFuzzer: over every file of its corpus, and over each of them cut
 * short at every length and with each byte changed. Output is TAP, a point for each file.
 *
 *   KEEL_TEST_SRCDIR=TREE tests/fuzz/contact    the corpus in tests/fuzz/corpus/contact
 *   tests/fuzz/contact FILE...                  these files, as they are */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tests/fuzz/fuzz.h>
#include <unistd.h>

enum {
    FILE_MAX = 1 << 20,
    VARIANTS_MAX = 512, /* of each kind; of a longer file, at even distances */
    LIMIT_S = 120       /* for a whole corpus */
};

static void run(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size);
    if (size > 0) {
        memcpy(exact, data, size);
    }
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void run_variants(uint8_t *data, size_t size)
{
    size_t step = size / VARIANTS_MAX + 1;
    for (size_t at = 0; at < size; at += step) {
        run(data, at);
        data[at] ^= (uint8_t) (1u << at % 8);
        run(data, size);
        data[at] ^= (uint8_t) (1u << at % 8);
    }
}

/* The whole file, malloc'd; NULL: it cannot be read, or is too large. */
static uint8_t *read_file(const char *path, size_t *size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *data = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size <= FILE_MAX) {
        *size = (size_t) status.st_size;
        data = malloc(*size + 1);
        if (data && read(fd, data, *size) != status.st_size) {
            free(data);
            data = NULL;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return data;
}

static bool replay(const char *path, bool variants)
{
    size_t size;
    uint8_t *data = read_file(path, &size);
    if (!data) {
        return false;
    }
    run(data, size);
    if (variants) {
        run_variants(data, size);
    }
    free(data);
    return true;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Returns how many files there are; each is a point. */
static int replay_corpus(const char *folder, FILE *tap)
{
    struct dirent **files;
    int count = scandir(folder, &files, visible, alphasort);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX + NAME_MAX + 2];
        snprintf(path, sizeof(path), "%s/%s", folder, files[i]->d_name);
        /* said before: it names the input that ends the program */
        fprintf(stderr, "# %s\n", path);
        bool good = replay(path, true);
        fprintf(tap, "%sok %d - %s\n", good ? "" : "not ", i + 1, files[i]->d_name);
        free(files[i]);
    }
    if (count > 0) {
        free(files);
    }
    return count;
}

int main(int argc, char **argv)
{
    /* some targets print what a user would see */
    FILE *tap = fdopen(dup(STDOUT_FILENO), "w");
    if (!tap || !freopen("/dev/null", "w", stdout)) {
        return 1;
    }
    setvbuf(tap, NULL, _IOLBF, BUFSIZ);
    alarm(LIMIT_S);
    LLVMFuzzerInitialize(&argc, &argv);
    bool good = true;
    for (int i = 1; i < argc; i++) {
        good = replay(argv[i], false) && good;
    }
    const char *tree = getenv("KEEL_TEST_SRCDIR");
    if (argc == 1) {
        char folder[PATH_MAX];
        snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/%s", tree ? tree : ".",
                 basename(argv[0]));
        int count = replay_corpus(folder, tap);
        fprintf(tap, "1..%d\n", count > 0 ? count : 1);
        good = count > 0;
    }
    fclose(tap);
    return good ? 0 : 1;
}
