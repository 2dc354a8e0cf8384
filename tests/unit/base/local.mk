# tests of base/, in its rooms

check_PROGRAMS += tests/unit/base/data/test-bytes tests/unit/base/data/test-crc32c \
	tests/unit/base/data/test-crypto tests/unit/base/data/test-hash tests/unit/base/data/test-ids \
	tests/unit/base/data/test-array tests/unit/base/data/test-le tests/unit/base/data/test-list tests/unit/base/data/test-pool \
	tests/unit/base/data/test-reorder tests/unit/base/data/test-strings
tests_unit_base_data_test_bytes_SOURCES = tests/unit/base/data/test-bytes.c
tests_unit_base_data_test_bytes_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_crc32c_SOURCES = tests/unit/base/data/test-crc32c.c
tests_unit_base_data_test_crc32c_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_crypto_SOURCES = tests/unit/base/data/test-crypto.c
tests_unit_base_data_test_crypto_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_hash_SOURCES = tests/unit/base/data/test-hash.c
tests_unit_base_data_test_hash_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_ids_SOURCES = tests/unit/base/data/test-ids.c
tests_unit_base_data_test_ids_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_le_SOURCES = tests/unit/base/data/test-le.c
tests_unit_base_data_test_le_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_array_SOURCES = tests/unit/base/data/test-array.c
tests_unit_base_data_test_array_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_list_SOURCES = tests/unit/base/data/test-list.c
tests_unit_base_data_test_list_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_pool_SOURCES = tests/unit/base/data/test-pool.c
tests_unit_base_data_test_pool_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_reorder_SOURCES = tests/unit/base/data/test-reorder.c
tests_unit_base_data_test_reorder_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_data_test_strings_SOURCES = tests/unit/base/data/test-strings.c
tests_unit_base_data_test_strings_LDADD = tests/lib/libunit.la libbase.la

check_PROGRAMS += tests/unit/base/text/test-json tests/unit/base/text/test-number tests/unit/base/text/test-text-file \
	tests/unit/base/text/test-reason tests/unit/base/text/test-words
tests_unit_base_text_test_json_SOURCES = tests/unit/base/text/test-json.c
tests_unit_base_text_test_json_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_text_test_number_SOURCES = tests/unit/base/text/test-number.c
tests_unit_base_text_test_number_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_text_test_text_file_SOURCES = tests/unit/base/text/test-text-file.c
tests_unit_base_text_test_text_file_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_text_test_reason_SOURCES = tests/unit/base/text/test-reason.c
tests_unit_base_text_test_reason_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_text_test_words_SOURCES = tests/unit/base/text/test-words.c
tests_unit_base_text_test_words_LDADD = tests/lib/libunit.la libbase.la

check_PROGRAMS += tests/unit/base/types/test-bitmap tests/unit/base/types/test-convertor \
	tests/unit/base/types/test-dss tests/unit/base/types/test-dss-hostile \
	tests/unit/base/types/test-names tests/unit/base/types/test-object \
	tests/unit/base/types/test-status
tests_unit_base_types_test_bitmap_SOURCES = tests/unit/base/types/test-bitmap.c
tests_unit_base_types_test_bitmap_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_types_test_convertor_SOURCES = tests/unit/base/types/test-convertor.c
tests_unit_base_types_test_convertor_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_types_test_dss_SOURCES = tests/unit/base/types/test-dss.c tests/unit/base/types/dss_golden.h
tests_unit_base_types_test_dss_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_types_test_dss_hostile_SOURCES = tests/unit/base/types/test-dss-hostile.c tests/unit/base/types/dss_golden.h
tests_unit_base_types_test_dss_hostile_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_types_test_names_SOURCES = tests/unit/base/types/test-names.c
tests_unit_base_types_test_names_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_types_test_object_SOURCES = tests/unit/base/types/test-object.c
tests_unit_base_types_test_object_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_types_test_status_SOURCES = tests/unit/base/types/test-status.c
tests_unit_base_types_test_status_LDADD = tests/lib/libunit.la libbase.la

check_PROGRAMS += tests/unit/base/settings/test-fault tests/unit/base/settings/test-log \
	tests/unit/base/settings/test-param tests/unit/base/settings/test-param-list
tests_unit_base_settings_test_fault_SOURCES = tests/unit/base/settings/test-fault.c
tests_unit_base_settings_test_fault_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_settings_test_log_SOURCES = tests/unit/base/settings/test-log.c
tests_unit_base_settings_test_log_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_settings_test_param_SOURCES = tests/unit/base/settings/test-param.c
tests_unit_base_settings_test_param_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_settings_test_param_list_SOURCES = tests/unit/base/settings/test-param-list.c
tests_unit_base_settings_test_param_list_LDADD = tests/lib/libunit.la libbase.la

check_PROGRAMS += tests/unit/base/loop/test-backoff tests/unit/base/loop/test-handover \
	tests/unit/base/loop/test-lines tests/unit/base/loop/test-loop tests/unit/base/loop/test-patience tests/unit/base/loop/test-wheel
tests_unit_base_loop_test_backoff_SOURCES = tests/unit/base/loop/test-backoff.c
tests_unit_base_loop_test_backoff_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_loop_test_handover_SOURCES = tests/unit/base/loop/test-handover.c
tests_unit_base_loop_test_handover_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_loop_test_lines_SOURCES = tests/unit/base/loop/test-lines.c
tests_unit_base_loop_test_lines_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_loop_test_loop_SOURCES = tests/unit/base/loop/test-loop.c
tests_unit_base_loop_test_loop_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_loop_test_patience_SOURCES = tests/unit/base/loop/test-patience.c
tests_unit_base_loop_test_patience_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_loop_test_wheel_SOURCES = tests/unit/base/loop/test-wheel.c
tests_unit_base_loop_test_wheel_LDADD = tests/lib/libunit.la libbase.la

check_PROGRAMS += tests/unit/base/net/test-linkwatch tests/unit/base/net/test-netif \
	tests/unit/base/net/test-pairing tests/unit/base/net/test-sock
tests_unit_base_net_test_linkwatch_SOURCES = tests/unit/base/net/test-linkwatch.c
tests_unit_base_net_test_linkwatch_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_net_test_netif_SOURCES = tests/unit/base/net/test-netif.c
tests_unit_base_net_test_netif_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_net_test_pairing_SOURCES = tests/unit/base/net/test-pairing.c
tests_unit_base_net_test_pairing_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_net_test_sock_SOURCES = tests/unit/base/net/test-sock.c
tests_unit_base_net_test_sock_LDADD = tests/lib/libunit.la libbase.la

check_PROGRAMS += tests/unit/base/host/test-corefile tests/unit/base/host/test-hostname \
	tests/unit/base/host/test-isolated tests/unit/base/host/test-leftovers \
	tests/unit/base/host/test-paths tests/unit/base/host/test-procstat tests/unit/base/host/test-pty \
	tests/unit/base/host/test-session tests/unit/base/host/test-topo
tests_unit_base_host_test_corefile_SOURCES = tests/unit/base/host/test-corefile.c
tests_unit_base_host_test_corefile_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_host_test_hostname_SOURCES = tests/unit/base/host/test-hostname.c
tests_unit_base_host_test_hostname_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_host_test_isolated_SOURCES = tests/unit/base/host/test-isolated.c
tests_unit_base_host_test_isolated_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_host_test_leftovers_SOURCES = tests/unit/base/host/test-leftovers.c
tests_unit_base_host_test_leftovers_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_host_test_procstat_SOURCES = tests/unit/base/host/test-procstat.c
tests_unit_base_host_test_procstat_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_host_test_pty_SOURCES = tests/unit/base/host/test-pty.c
tests_unit_base_host_test_pty_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_host_test_session_SOURCES = tests/unit/base/host/test-session.c
tests_unit_base_host_test_session_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_host_test_paths_SOURCES = tests/unit/base/host/test-paths.c
tests_unit_base_host_test_paths_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_host_test_topo_SOURCES = tests/unit/base/host/test-topo.c
tests_unit_base_host_test_topo_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_host_test_topo_CPPFLAGS = $(AM_CPPFLAGS) $(built_with_hwloc)
if HAVE_HWLOC
built_with_hwloc = -DBUILT_WITH_HWLOC
endif

# The public names against the interfaces that they come from.
check_PROGRAMS += tests/unit/base/test-seed-buffer tests/unit/base/test-seed-rml \
	tests/unit/base/test-seed-status
tests_unit_base_test_seed_buffer_SOURCES = tests/unit/base/test-seed-buffer.c tests/unit/base/seed.h
tests_unit_base_test_seed_buffer_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_seed_rml_SOURCES = tests/unit/base/test-seed-rml.c tests/unit/base/seed.h
tests_unit_base_test_seed_rml_LDADD = tests/lib/libunit.la libbase.la
tests_unit_base_test_seed_status_SOURCES = tests/unit/base/test-seed-status.c tests/unit/base/seed.h
tests_unit_base_test_seed_status_LDADD = tests/lib/libunit.la libbase.la
