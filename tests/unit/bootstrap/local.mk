# tests of bootstrap/
UNIT_TESTS += tests/unit/bootstrap/test-allgather
tests_unit_bootstrap_test_allgather_SOURCES = tests/unit/bootstrap/test-allgather.c
tests_unit_bootstrap_test_allgather_LDADD = tests/lib/libunit.la libbootserver.la librml.la \
	liboob.la libbase.la
