# tests of btl/tcp
check_PROGRAMS += tests/unit/btl/tcp/test-wire tests/unit/btl/tcp/test-card \
	tests/unit/btl/tcp/test-door tests/unit/btl/tcp/test-connect \
	tests/unit/btl/tcp/test-ends tests/unit/btl/tcp/test-access tests/unit/btl/tcp/test-pairs \
	tests/unit/btl/tcp/test-lanes tests/unit/btl/tcp/test-calls \
	tests/unit/btl/tcp/test-silence tests/unit/btl/tcp/test-return \
	tests/unit/btl/tcp/test-lost
tests_unit_btl_tcp_test_silence_SOURCES = tests/unit/btl/tcp/test-silence.c
tests_unit_btl_tcp_test_silence_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_wire_SOURCES = tests/unit/btl/tcp/test-wire.c
tests_unit_btl_tcp_test_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_card_SOURCES = tests/unit/btl/tcp/test-card.c tests/unit/btl/peers/netcard.h
tests_unit_btl_tcp_test_card_LDADD = tests/lib/libunit.la libbtl.la libbase.la
TCP_PEER = tests/unit/btl/tcp/peer.h tests/unit/btl/tcp/peer.c \
	tests/unit/btl/tcp/host.h tests/unit/btl/tcp/host.c
tests_unit_btl_tcp_test_door_SOURCES = tests/unit/btl/tcp/test-door.c $(TCP_PEER)
tests_unit_btl_tcp_test_door_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_connect_SOURCES = tests/unit/btl/tcp/test-connect.c $(TCP_PEER)
tests_unit_btl_tcp_test_connect_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_lost_SOURCES = tests/unit/btl/tcp/test-lost.c $(TCP_PEER)
tests_unit_btl_tcp_test_lost_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_return_SOURCES = tests/unit/btl/tcp/test-return.c $(TCP_PEER)
tests_unit_btl_tcp_test_return_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_ends_SOURCES = tests/unit/btl/tcp/test-ends.c $(TCP_PEER)
tests_unit_btl_tcp_test_ends_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_calls_SOURCES = tests/unit/btl/tcp/test-calls.c $(TCP_PEER)
tests_unit_btl_tcp_test_calls_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_lanes_SOURCES = tests/unit/btl/tcp/test-lanes.c $(TCP_PEER)
tests_unit_btl_tcp_test_lanes_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_access_SOURCES = tests/unit/btl/tcp/test-access.c $(TCP_PEER)
tests_unit_btl_tcp_test_access_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_tcp_test_pairs_SOURCES = tests/unit/btl/tcp/test-pairs.c \
	tests/unit/btl/tcp/host.h tests/unit/btl/tcp/host.c
tests_unit_btl_tcp_test_pairs_LDADD = tests/lib/libunit.la libbtl.la libbase.la
