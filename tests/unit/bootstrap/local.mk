# tests of bootstrap/

# The public calls, from outside: only libkeel.
UNIT_TESTS += tests/unit/bootstrap/test-alone
tests_unit_bootstrap_test_alone_SOURCES = tests/unit/bootstrap/test-alone.c
tests_unit_bootstrap_test_alone_LDADD = tests/lib/libunit.la lib/libkeel.la
