# tests of btl/tcp
UNIT_TESTS += tests/unit/btl/test-tcp-wire tests/unit/btl/test-tcp-card \
	tests/unit/btl/test-tcp-peer tests/unit/btl/test-tcp-pairs
tests_unit_btl_test_tcp_wire_SOURCES = tests/unit/btl/test-tcp-wire.c
tests_unit_btl_test_tcp_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_card_SOURCES = tests/unit/btl/test-tcp-card.c
tests_unit_btl_test_tcp_card_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_peer_SOURCES = tests/unit/btl/test-tcp-peer.c \
	tests/unit/btl/tcp-host.h tests/unit/btl/tcp-host.c
tests_unit_btl_test_tcp_peer_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_pairs_SOURCES = tests/unit/btl/test-tcp-pairs.c \
	tests/unit/btl/tcp-host.h tests/unit/btl/tcp-host.c
tests_unit_btl_test_tcp_pairs_LDADD = tests/lib/libunit.la libbtl.la libbase.la
