# tests of btl/usnic's module
check_PROGRAMS += tests/unit/btl/test-usnic-check
tests_unit_btl_test_usnic_check_SOURCES = tests/unit/btl/test-usnic-check.c
tests_unit_btl_test_usnic_check_LDADD = tests/lib/libunit.la libbtl.la libbase.la
if HAVE_FABRIC
check_PROGRAMS += tests/unit/btl/test-usnic-card tests/unit/btl/test-usnic-module \
	tests/unit/btl/test-usnic-port
tests_unit_btl_test_usnic_card_SOURCES = tests/unit/btl/test-usnic-card.c tests/unit/btl/peers/netcard.h
tests_unit_btl_test_usnic_card_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_usnic_module_SOURCES = tests/unit/btl/test-usnic-module.c
tests_unit_btl_test_usnic_module_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_usnic_port_SOURCES = tests/unit/btl/test-usnic-port.c
tests_unit_btl_test_usnic_port_LDADD = tests/lib/libunit.la libbtl.la libbase.la
endif
