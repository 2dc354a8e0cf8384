# tests of btl/check
check_PROGRAMS += tests/unit/btl/test-check-map
tests_unit_btl_test_check_map_SOURCES = tests/unit/btl/test-check-map.c
tests_unit_btl_test_check_map_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-check-module
tests_unit_btl_test_check_module_SOURCES = tests/unit/btl/test-check-module.c \
	tests/unit/btl/check-mock.h tests/unit/btl/check-mock.c
tests_unit_btl_test_check_module_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-check-rules
tests_unit_btl_test_check_rules_SOURCES = tests/unit/btl/test-check-rules.c \
	tests/unit/btl/check-mock.h tests/unit/btl/check-mock.c
tests_unit_btl_test_check_rules_LDADD = tests/lib/libunit.la libbtl.la libbase.la
