# tests of pml/
check_PROGRAMS += \
	tests/unit/pml/test-queues tests/unit/pml/test-match tests/unit/pml/test-match-model \
	tests/unit/pml/test-early
pml_libs = tests/lib/libunit.la libpml.la libbase.la
tests_unit_pml_test_queues_SOURCES = tests/unit/pml/test-queues.c
tests_unit_pml_test_queues_LDADD = $(pml_libs)
tests_unit_pml_test_match_SOURCES = tests/unit/pml/test-match.c
tests_unit_pml_test_match_LDADD = $(pml_libs)
tests_unit_pml_test_match_model_SOURCES = tests/unit/pml/test-match-model.c
tests_unit_pml_test_match_model_LDADD = $(pml_libs)
tests_unit_pml_test_early_SOURCES = tests/unit/pml/test-early.c
tests_unit_pml_test_early_LDADD = $(pml_libs)
