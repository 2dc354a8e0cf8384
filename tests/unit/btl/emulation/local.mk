# tests of btl/emulation/rdma_am.c and its frames
check_PROGRAMS += tests/unit/btl/emulation/test-rdma-am tests/unit/btl/emulation/test-rdma-am-atomic \
	tests/unit/btl/emulation/test-rdma-am-frames tests/unit/btl/emulation/test-rdma-am-landing \
	tests/unit/btl/emulation/test-rdma-am-share tests/unit/btl/emulation/test-rdma-am-wire
RDMA_SIDES = tests/unit/btl/emulation/sides.h tests/unit/btl/emulation/sides.c
tests_unit_btl_emulation_test_rdma_am_SOURCES = tests/unit/btl/emulation/test-rdma-am.c $(RDMA_SIDES)
tests_unit_btl_emulation_test_rdma_am_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_emulation_test_rdma_am_atomic_SOURCES = tests/unit/btl/emulation/test-rdma-am-atomic.c $(RDMA_SIDES)
tests_unit_btl_emulation_test_rdma_am_atomic_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_emulation_test_rdma_am_frames_SOURCES = tests/unit/btl/emulation/test-rdma-am-frames.c $(RDMA_SIDES)
tests_unit_btl_emulation_test_rdma_am_frames_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_emulation_test_rdma_am_landing_SOURCES = tests/unit/btl/emulation/test-rdma-am-landing.c $(RDMA_SIDES)
tests_unit_btl_emulation_test_rdma_am_landing_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_emulation_test_rdma_am_share_SOURCES = tests/unit/btl/emulation/test-rdma-am-share.c $(RDMA_SIDES)
tests_unit_btl_emulation_test_rdma_am_share_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_emulation_test_rdma_am_wire_SOURCES = tests/unit/btl/emulation/test-rdma-am-wire.c
tests_unit_btl_emulation_test_rdma_am_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/interface/test-atomic
tests_unit_btl_interface_test_atomic_SOURCES = tests/unit/btl/interface/test-atomic.c
tests_unit_btl_interface_test_atomic_LDADD = tests/lib/libunit.la libbtl.la libbase.la
