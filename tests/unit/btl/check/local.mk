# tests of btl/check
check_PROGRAMS += tests/unit/btl/check/test-map
tests_unit_btl_check_test_map_SOURCES = tests/unit/btl/check/test-map.c
tests_unit_btl_check_test_map_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/check/test-module
tests_unit_btl_check_test_module_SOURCES = tests/unit/btl/check/test-module.c \
	tests/unit/btl/check/mock.h tests/unit/btl/check/mock.c
tests_unit_btl_check_test_module_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/check/test-rules
tests_unit_btl_check_test_rules_SOURCES = tests/unit/btl/check/test-rules.c \
	tests/unit/btl/check/mock.h tests/unit/btl/check/mock.c
tests_unit_btl_check_test_rules_LDADD = tests/lib/libunit.la libbtl.la libbase.la
