# tests of btl/usnic's engine
check_PROGRAMS += tests/unit/btl/usnic/test-wire tests/unit/btl/usnic/test-window
tests_unit_btl_usnic_test_wire_SOURCES = tests/unit/btl/usnic/test-wire.c
tests_unit_btl_usnic_test_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_window_SOURCES = tests/unit/btl/usnic/test-window.c
tests_unit_btl_usnic_test_window_LDADD = tests/lib/libunit.la libbtl.la libbase.la
