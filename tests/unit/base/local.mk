# tests of base/

# The process and its host.
UNIT_TESTS += \
	tests/unit/base/test-log tests/unit/base/test-param tests/unit/base/test-fault tests/unit/base/test-loop \
	tests/unit/base/test-sock tests/unit/base/test-crypto tests/unit/base/test-paths tests/unit/base/test-topo \
	tests/unit/base/test-netif
tests_unit_base_test_log_SOURCES = tests/unit/base/test-log.c
tests_unit_base_test_log_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_param_SOURCES = tests/unit/base/test-param.c
tests_unit_base_test_param_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_fault_SOURCES = tests/unit/base/test-fault.c
tests_unit_base_test_fault_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_loop_SOURCES = tests/unit/base/test-loop.c
tests_unit_base_test_loop_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_sock_SOURCES = tests/unit/base/test-sock.c
tests_unit_base_test_sock_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_crypto_SOURCES = tests/unit/base/test-crypto.c
tests_unit_base_test_crypto_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_paths_SOURCES = tests/unit/base/test-paths.c
tests_unit_base_test_paths_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_topo_SOURCES = tests/unit/base/test-topo.c
tests_unit_base_test_topo_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_netif_SOURCES = tests/unit/base/test-netif.c
tests_unit_base_test_netif_LDADD = tests/lib/libunit.la libbase.la
