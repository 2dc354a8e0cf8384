# btl/sm
check_PROGRAMS += tests/unit/btl/sm/test-ring tests/unit/btl/sm/test-board \
	tests/unit/btl/sm/test-segment tests/unit/btl/sm/test-peer \
	tests/unit/btl/sm/test-shortage tests/unit/btl/sm/test-leave
tests_unit_btl_sm_test_ring_SOURCES = tests/unit/btl/sm/test-ring.c
tests_unit_btl_sm_test_ring_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_sm_test_board_SOURCES = tests/unit/btl/sm/test-board.c
tests_unit_btl_sm_test_board_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_sm_test_segment_SOURCES = tests/unit/btl/sm/test-segment.c
tests_unit_btl_sm_test_segment_LDADD = tests/lib/libunit.la libbtl.la libbase.la
SM_RANK = tests/unit/btl/sm/rank.h tests/unit/btl/sm/rank.c tests/lib/minihost.h \
	tests/lib/minihost.c
tests_unit_btl_sm_test_peer_SOURCES = tests/unit/btl/sm/test-peer.c $(SM_RANK)
tests_unit_btl_sm_test_peer_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_sm_test_shortage_SOURCES = tests/unit/btl/sm/test-shortage.c $(SM_RANK)
tests_unit_btl_sm_test_shortage_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_sm_test_leave_SOURCES = tests/unit/btl/sm/test-leave.c $(SM_RANK)
tests_unit_btl_sm_test_leave_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/sm/test-bell
tests_unit_btl_sm_test_bell_SOURCES = tests/unit/btl/sm/test-bell.c
tests_unit_btl_sm_test_bell_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/sm/test-help
tests_unit_btl_sm_test_help_SOURCES = tests/unit/btl/sm/test-help.c $(SM_RANK)
tests_unit_btl_sm_test_help_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/sm/test-claims
tests_unit_btl_sm_test_claims_SOURCES = tests/unit/btl/sm/test-claims.c
tests_unit_btl_sm_test_claims_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/sm/test-pace
tests_unit_btl_sm_test_pace_SOURCES = tests/unit/btl/sm/test-pace.c
tests_unit_btl_sm_test_pace_LDADD = tests/lib/libunit.la libbtl.la libbase.la
