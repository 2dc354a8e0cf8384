# tests of btl/tcp
check_PROGRAMS += tests/unit/btl/test-tcp-wire tests/unit/btl/test-tcp-card \
	tests/unit/btl/test-tcp-door tests/unit/btl/test-tcp-connect \
	tests/unit/btl/test-tcp-ends tests/unit/btl/test-tcp-access tests/unit/btl/test-tcp-pairs \
	tests/unit/btl/test-tcp-lanes tests/unit/btl/test-tcp-calls \
	tests/unit/btl/test-tcp-silence tests/unit/btl/test-tcp-return \
	tests/unit/btl/test-tcp-lost
tests_unit_btl_test_tcp_silence_SOURCES = tests/unit/btl/test-tcp-silence.c
tests_unit_btl_test_tcp_silence_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_wire_SOURCES = tests/unit/btl/test-tcp-wire.c
tests_unit_btl_test_tcp_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_card_SOURCES = tests/unit/btl/test-tcp-card.c tests/unit/btl/netcard.h
tests_unit_btl_test_tcp_card_LDADD = tests/lib/libunit.la libbtl.la libbase.la
TCP_PEER = tests/unit/btl/tcp-peer.h tests/unit/btl/tcp-peer.c \
	tests/unit/btl/tcp-host.h tests/unit/btl/tcp-host.c
tests_unit_btl_test_tcp_door_SOURCES = tests/unit/btl/test-tcp-door.c $(TCP_PEER)
tests_unit_btl_test_tcp_door_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_connect_SOURCES = tests/unit/btl/test-tcp-connect.c $(TCP_PEER)
tests_unit_btl_test_tcp_connect_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_lost_SOURCES = tests/unit/btl/test-tcp-lost.c $(TCP_PEER)
tests_unit_btl_test_tcp_lost_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_return_SOURCES = tests/unit/btl/test-tcp-return.c $(TCP_PEER)
tests_unit_btl_test_tcp_return_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_ends_SOURCES = tests/unit/btl/test-tcp-ends.c $(TCP_PEER)
tests_unit_btl_test_tcp_ends_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_calls_SOURCES = tests/unit/btl/test-tcp-calls.c $(TCP_PEER)
tests_unit_btl_test_tcp_calls_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_lanes_SOURCES = tests/unit/btl/test-tcp-lanes.c $(TCP_PEER)
tests_unit_btl_test_tcp_lanes_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_access_SOURCES = tests/unit/btl/test-tcp-access.c $(TCP_PEER)
tests_unit_btl_test_tcp_access_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tcp_pairs_SOURCES = tests/unit/btl/test-tcp-pairs.c \
	tests/unit/btl/tcp-host.h tests/unit/btl/tcp-host.c
tests_unit_btl_test_tcp_pairs_LDADD = tests/lib/libunit.la libbtl.la libbase.la
