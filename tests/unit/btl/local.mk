# tests of btl/
check_PROGRAMS += \
	tests/unit/btl/test-seed-btl tests/unit/btl/test-region tests/unit/btl/test-bml \
	tests/unit/btl/test-desc tests/unit/btl/test-self \
	tests/unit/btl/test-framework tests/unit/btl/test-progress \
	tests/unit/btl/test-table tests/unit/btl/test-roster tests/unit/btl/test-rails tests/unit/btl/test-many-peers
tests_unit_btl_test_seed_btl_SOURCES = tests/unit/btl/test-seed-btl.c tests/unit/base/seed.h
tests_unit_btl_test_seed_btl_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_region_SOURCES = tests/unit/btl/test-region.c
tests_unit_btl_test_region_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_bml_SOURCES = tests/unit/btl/test-bml.c
tests_unit_btl_test_bml_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_desc_SOURCES = tests/unit/btl/test-desc.c
tests_unit_btl_test_desc_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_self_SOURCES = tests/unit/btl/test-self.c
tests_unit_btl_test_self_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_framework_SOURCES = tests/unit/btl/test-framework.c
tests_unit_btl_test_framework_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_roster_SOURCES = tests/unit/btl/test-roster.c
tests_unit_btl_test_roster_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-tap tests/unit/btl/test-lock tests/unit/btl/test-netcard \
	tests/unit/btl/test-host-probe
tests_unit_btl_test_host_probe_SOURCES = tests/unit/btl/test-host-probe.c
tests_unit_btl_test_host_probe_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_netcard_SOURCES = tests/unit/btl/test-netcard.c tests/unit/btl/netcard.h
tests_unit_btl_test_netcard_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_tap_SOURCES = tests/unit/btl/test-tap.c
tests_unit_btl_test_tap_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_lock_SOURCES = tests/unit/btl/test-lock.c
tests_unit_btl_test_lock_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_table_SOURCES = tests/unit/btl/test-table.c
tests_unit_btl_test_table_LDADD = tests/lib/libunit.la libbtl.la libbase.la
# Its registry replaces the library's.
tests_unit_btl_test_many_peers_SOURCES = tests/unit/btl/test-many-peers.c
tests_unit_btl_test_many_peers_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_rails_SOURCES = tests/unit/btl/test-rails.c
tests_unit_btl_test_rails_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_progress_SOURCES = tests/unit/btl/test-progress.c
tests_unit_btl_test_progress_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-ext tests/unit/btl/test-ftevent
tests_unit_btl_test_ext_SOURCES = tests/unit/btl/test-ext.c
tests_unit_btl_test_ext_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_ftevent_SOURCES = tests/unit/btl/test-ftevent.c
tests_unit_btl_test_ftevent_LDADD = tests/lib/libunit.la libbtl.la libbase.la
include $(srcdir)/tests/unit/btl/rdma-am.mk
include $(srcdir)/tests/unit/btl/sm.mk
include $(srcdir)/tests/unit/btl/tcp.mk
include $(srcdir)/tests/unit/btl/check.mk
include $(srcdir)/tests/unit/btl/ofi.mk
include $(srcdir)/tests/unit/btl/usnic.mk
include $(srcdir)/tests/unit/btl/usnic-module.mk
check_PROGRAMS += tests/unit/btl/test-stats
tests_unit_btl_test_stats_SOURCES = tests/unit/btl/test-stats.c
tests_unit_btl_test_stats_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-choice
# As in a build without libfabric.
tests_unit_btl_test_choice_SOURCES = tests/unit/btl/test-choice.c btl/ofi/ofi_absent.c btl/usnic/usnic_absent.c
tests_unit_btl_test_choice_CFLAGS = $(AM_CFLAGS)
tests_unit_btl_test_choice_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-plane
tests_unit_btl_test_plane_SOURCES = tests/unit/btl/test-plane.c tests/lib/minihost.h \
	tests/lib/minihost.c
tests_unit_btl_test_plane_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-card
tests_unit_btl_test_card_SOURCES = tests/unit/btl/test-card.c
tests_unit_btl_test_card_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-peer
tests_unit_btl_test_peer_SOURCES = tests/unit/btl/test-peer.c
tests_unit_btl_test_peer_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-session tests/unit/btl/test-peer-sim
tests_unit_btl_test_session_SOURCES = tests/unit/btl/test-session.c
tests_unit_btl_test_session_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_test_peer_sim_SOURCES = tests/unit/btl/test-peer-sim.c tests/lib/sim/peers.h tests/lib/sim/peers.c
tests_unit_btl_test_peer_sim_LDADD = tests/lib/libsim.la tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-udgram-wire
tests_unit_btl_test_udgram_wire_SOURCES = tests/unit/btl/test-udgram-wire.c $(UDGRAM)
tests_unit_btl_test_udgram_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
