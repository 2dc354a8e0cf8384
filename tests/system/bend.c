/* Preloaded into one rank of handoff: turns one bit of what it checks, as bad memory would. */
#include <dlfcn.h>
#include <stddef.h>

typedef int (*hash_fn)(unsigned char *, size_t, const unsigned char *, unsigned long long,
                       const unsigned char *, size_t);

int crypto_generichash(unsigned char *out, size_t out_size, const unsigned char *in,
                       unsigned long long in_size, const unsigned char *key, size_t key_size);

int crypto_generichash(unsigned char *out, size_t out_size, const unsigned char *in,
                       unsigned long long in_size, const unsigned char *key, size_t key_size)
{
    enum { FILE_SIZE_MIN = 10000 }; /* libkeel hashes too, but little */
    static int calls;
    hash_fn real = (hash_fn) dlsym(RTLD_NEXT, "crypto_generichash");
    /* the first call is about its own file, the next ones about what arrived */
    if (in_size >= FILE_SIZE_MIN && calls++ > 0) {
        ((unsigned char *) (size_t) in)[in_size / 2] ^= 1;
    }
    return real(out, out_size, in, in_size, key, key_size);
}
