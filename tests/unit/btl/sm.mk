# btl/sm
check_PROGRAMS += tests/unit/btl/test-sm-ring tests/unit/btl/test-sm-board \
	tests/unit/btl/test-sm-segment tests/unit/btl/test-sm-peer \
	tests/unit/btl/test-sm-shortage tests/unit/btl/test-sm-leave
tests_unit_btl_test_sm_ring_SOURCES = tests/unit/btl/test-sm-ring.c
tests_unit_btl_test_sm_ring_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_sm_board_SOURCES = tests/unit/btl/test-sm-board.c
tests_unit_btl_test_sm_board_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_sm_segment_SOURCES = tests/unit/btl/test-sm-segment.c
tests_unit_btl_test_sm_segment_LDADD = tests/lib/libunit.la libbtl.la libbase.la
SM_RANK = tests/unit/btl/sm-rank.h tests/unit/btl/sm-rank.c tests/lib/minihost.h \
	tests/lib/minihost.c
tests_unit_btl_test_sm_peer_SOURCES = tests/unit/btl/test-sm-peer.c $(SM_RANK)
tests_unit_btl_test_sm_peer_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_sm_shortage_SOURCES = tests/unit/btl/test-sm-shortage.c $(SM_RANK)
tests_unit_btl_test_sm_shortage_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_sm_leave_SOURCES = tests/unit/btl/test-sm-leave.c $(SM_RANK)
tests_unit_btl_test_sm_leave_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-sm-bell
tests_unit_btl_test_sm_bell_SOURCES = tests/unit/btl/test-sm-bell.c
tests_unit_btl_test_sm_bell_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-sm-help
tests_unit_btl_test_sm_help_SOURCES = tests/unit/btl/test-sm-help.c $(SM_RANK)
tests_unit_btl_test_sm_help_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-sm-claims
tests_unit_btl_test_sm_claims_SOURCES = tests/unit/btl/test-sm-claims.c
tests_unit_btl_test_sm_claims_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-sm-pace
tests_unit_btl_test_sm_pace_SOURCES = tests/unit/btl/test-sm-pace.c
tests_unit_btl_test_sm_pace_LDADD = tests/lib/libunit.la libbtl.la libbase.la
