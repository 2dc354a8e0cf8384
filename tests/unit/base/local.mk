# tests of base/

# The process and its host.
check_PROGRAMS += \
	tests/unit/base/test-crc32c tests/unit/base/test-log tests/unit/base/test-param tests/unit/base/test-fault tests/unit/base/test-loop \
	tests/unit/base/test-sock tests/unit/base/test-crypto tests/unit/base/test-paths tests/unit/base/test-topo \
	tests/unit/base/test-netif tests/unit/base/test-session tests/unit/base/test-backoff \
	tests/unit/base/test-patience tests/unit/base/test-linkwatch tests/unit/base/test-procstat tests/unit/base/test-leftovers
tests_unit_base_test_crc32c_SOURCES = tests/unit/base/test-crc32c.c
tests_unit_base_test_crc32c_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_leftovers_SOURCES = tests/unit/base/test-leftovers.c
tests_unit_base_test_leftovers_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_procstat_SOURCES = tests/unit/base/test-procstat.c
tests_unit_base_test_procstat_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_linkwatch_SOURCES = tests/unit/base/test-linkwatch.c
tests_unit_base_test_linkwatch_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_backoff_SOURCES = tests/unit/base/test-backoff.c
tests_unit_base_test_backoff_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_patience_SOURCES = tests/unit/base/test-patience.c
tests_unit_base_test_patience_LDADD = tests/lib/libunit.la libbase.la
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
tests_unit_base_test_session_SOURCES = tests/unit/base/test-session.c
tests_unit_base_test_session_LDADD = tests/lib/libunit.la libbase.la

# Data: status codes, names, objects, packing.
check_PROGRAMS += \
	tests/unit/base/test-status tests/unit/base/test-names tests/unit/base/test-object \
	tests/unit/base/test-dss tests/unit/base/test-dss-hostile tests/unit/base/test-bitmap \
	tests/unit/base/test-convertor tests/unit/base/test-pool tests/unit/base/test-list \
	tests/unit/base/test-ids tests/unit/base/test-le tests/unit/base/test-pairing tests/unit/base/test-reorder \
	tests/unit/base/test-wheel
tests_unit_base_test_reorder_SOURCES = tests/unit/base/test-reorder.c
tests_unit_base_test_reorder_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_wheel_SOURCES = tests/unit/base/test-wheel.c
tests_unit_base_test_wheel_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_ids_SOURCES = tests/unit/base/test-ids.c
tests_unit_base_test_ids_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_pairing_SOURCES = tests/unit/base/test-pairing.c
tests_unit_base_test_pairing_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_status_SOURCES = tests/unit/base/test-status.c
tests_unit_base_test_status_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_names_SOURCES = tests/unit/base/test-names.c
tests_unit_base_test_names_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_object_SOURCES = tests/unit/base/test-object.c
tests_unit_base_test_object_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_dss_SOURCES = tests/unit/base/test-dss.c tests/unit/base/dss_golden.h
tests_unit_base_test_dss_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_dss_hostile_SOURCES = tests/unit/base/test-dss-hostile.c \
	tests/unit/base/dss_golden.h
tests_unit_base_test_dss_hostile_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_bitmap_SOURCES = tests/unit/base/test-bitmap.c
tests_unit_base_test_bitmap_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_convertor_SOURCES = tests/unit/base/test-convertor.c
tests_unit_base_test_convertor_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_pool_SOURCES = tests/unit/base/test-pool.c
tests_unit_base_test_pool_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_list_SOURCES = tests/unit/base/test-list.c
tests_unit_base_test_list_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_le_SOURCES = tests/unit/base/test-le.c
tests_unit_base_test_le_LDADD = tests/lib/libunit.la libbase.la

# The public names against the interfaces that they come from.
check_PROGRAMS += \
	tests/unit/base/test-seed-status tests/unit/base/test-seed-buffer \
	tests/unit/base/test-seed-rml
tests_unit_base_test_seed_status_SOURCES = tests/unit/base/test-seed-status.c tests/unit/base/seed.h
tests_unit_base_test_seed_status_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_seed_buffer_SOURCES = tests/unit/base/test-seed-buffer.c tests/unit/base/seed.h
tests_unit_base_test_seed_buffer_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_seed_rml_SOURCES = tests/unit/base/test-seed-rml.c tests/unit/base/seed.h
tests_unit_base_test_seed_rml_LDADD = tests/lib/libunit.la libbase.la
check_PROGRAMS += tests/unit/base/test-bytes tests/unit/base/test-hash tests/unit/base/test-handover tests/unit/base/test-hostname \
	tests/unit/base/test-pty tests/unit/base/test-strings
tests_unit_base_test_handover_SOURCES = tests/unit/base/test-handover.c
tests_unit_base_test_handover_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_hostname_SOURCES = tests/unit/base/test-hostname.c
tests_unit_base_test_hostname_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_pty_SOURCES = tests/unit/base/test-pty.c
tests_unit_base_test_pty_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_strings_SOURCES = tests/unit/base/test-strings.c
tests_unit_base_test_strings_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_bytes_SOURCES = tests/unit/base/test-bytes.c
tests_unit_base_test_bytes_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_hash_SOURCES = tests/unit/base/test-hash.c
tests_unit_base_test_hash_LDADD = tests/lib/libunit.la libbase.la
