/* What the Open MPI half of coexist.c calls of the Keel half. NULL: all went well. */
#ifndef TESTS_COEXIST_H
#define TESTS_COEXIST_H

const char *keel_half_begin(void);
const char *keel_half_use(void);
const char *keel_half_end(void);

#endif
