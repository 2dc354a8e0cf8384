# tests of btl/ofi
if HAVE_FABRIC
check_PROGRAMS += tests/unit/btl/test-ofi-card tests/unit/btl/test-ofi-wire tests/unit/btl/test-ofi-door \
	tests/unit/btl/test-ofi-leftovers tests/unit/btl/test-ofi-fabric tests/unit/btl/test-ofi-native \
	tests/unit/btl/test-ofi-return tests/unit/btl/test-ofi-silence tests/unit/btl/test-fabric
tests_unit_btl_test_ofi_silence_SOURCES = tests/unit/btl/test-ofi-silence.c
tests_unit_btl_test_ofi_silence_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_ofi_return_SOURCES = tests/unit/btl/test-ofi-return.c \
	tests/lib/minihost.h tests/lib/minihost.c
tests_unit_btl_test_ofi_return_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_fabric_SOURCES = tests/unit/btl/test-fabric.c
tests_unit_btl_test_fabric_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_ofi_card_SOURCES = tests/unit/btl/test-ofi-card.c
tests_unit_btl_test_ofi_card_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_ofi_wire_SOURCES = tests/unit/btl/test-ofi-wire.c
tests_unit_btl_test_ofi_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_ofi_door_SOURCES = tests/unit/btl/test-ofi-door.c \
	tests/lib/minihost.h tests/lib/minihost.c
tests_unit_btl_test_ofi_door_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_ofi_leftovers_SOURCES = tests/unit/btl/test-ofi-leftovers.c
tests_unit_btl_test_ofi_leftovers_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_ofi_fabric_SOURCES = tests/unit/btl/test-ofi-fabric.c
tests_unit_btl_test_ofi_fabric_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_ofi_native_SOURCES = tests/unit/btl/test-ofi-native.c \
	tests/lib/minihost.h tests/lib/minihost.c
tests_unit_btl_test_ofi_native_LDADD = tests/lib/libunit.la libbtl.la libbase.la
endif
