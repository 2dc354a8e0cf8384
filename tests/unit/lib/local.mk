# tests of what the tests share
check_PROGRAMS += tests/unit/lib/test-impair tests/unit/lib/test-wire
tests_unit_lib_test_impair_SOURCES = tests/unit/lib/test-impair.c
tests_unit_lib_test_impair_LDADD = tests/lib/libwire.la tests/lib/libunit.la -lm
tests_unit_lib_test_wire_SOURCES = tests/unit/lib/test-wire.c
tests_unit_lib_test_wire_LDADD = tests/lib/libwire.la tests/lib/libunit.la
