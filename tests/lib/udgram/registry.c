/* The components of a program that is linked with this file: it replaces
 * btl/framework/registry.c. */
#include <config.h>

#include <tests/lib/udgram/udgram.h>

const struct btl_component *const btl_components[] = {&btl_udgram_component, NULL};
