# tests of btl/ofi
if HAVE_FABRIC
check_PROGRAMS += tests/unit/btl/ofi/test-card tests/unit/btl/ofi/test-wire tests/unit/btl/ofi/test-door \
	tests/unit/btl/ofi/test-leftovers tests/unit/btl/ofi/test-fabric tests/unit/btl/ofi/test-native \
	tests/unit/btl/ofi/test-return tests/unit/btl/ofi/test-silence tests/unit/btl/ofi/test-traits \
	tests/unit/btl/fabric/test-fabric
tests_unit_btl_ofi_test_traits_SOURCES = tests/unit/btl/ofi/test-traits.c
tests_unit_btl_ofi_test_traits_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_ofi_test_silence_SOURCES = tests/unit/btl/ofi/test-silence.c
tests_unit_btl_ofi_test_silence_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_ofi_test_return_SOURCES = tests/unit/btl/ofi/test-return.c \
	tests/lib/minihost.h tests/lib/minihost.c
tests_unit_btl_ofi_test_return_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_fabric_test_fabric_SOURCES = tests/unit/btl/fabric/test-fabric.c
tests_unit_btl_fabric_test_fabric_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_ofi_test_card_SOURCES = tests/unit/btl/ofi/test-card.c
tests_unit_btl_ofi_test_card_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_ofi_test_wire_SOURCES = tests/unit/btl/ofi/test-wire.c
tests_unit_btl_ofi_test_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_ofi_test_door_SOURCES = tests/unit/btl/ofi/test-door.c \
	tests/lib/minihost.h tests/lib/minihost.c
tests_unit_btl_ofi_test_door_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_ofi_test_leftovers_SOURCES = tests/unit/btl/ofi/test-leftovers.c
tests_unit_btl_ofi_test_leftovers_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_ofi_test_fabric_SOURCES = tests/unit/btl/ofi/test-fabric.c
tests_unit_btl_ofi_test_fabric_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_ofi_test_native_SOURCES = tests/unit/btl/ofi/test-native.c \
	tests/lib/minihost.h tests/lib/minihost.c
tests_unit_btl_ofi_test_native_LDADD = tests/lib/libunit.la libbtl.la libbase.la
endif
