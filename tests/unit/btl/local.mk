# tests of btl/
check_PROGRAMS += \
	tests/unit/btl/interface/test-seed-btl tests/unit/btl/memory/test-region tests/unit/btl/plane/test-bml \
	tests/unit/btl/memory/test-desc tests/unit/btl/self/test-self \
	tests/unit/btl/framework/test-framework tests/unit/btl/progress/test-progress \
	tests/unit/btl/interface/test-farewell tests/unit/btl/modules/test-table tests/unit/btl/peers/test-roster tests/unit/btl/plane/test-rails tests/unit/btl/peers/test-many-peers
tests_unit_btl_interface_test_seed_btl_SOURCES = tests/unit/btl/interface/test-seed-btl.c tests/unit/base/seed.h
tests_unit_btl_interface_test_seed_btl_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_memory_test_region_SOURCES = tests/unit/btl/memory/test-region.c
tests_unit_btl_memory_test_region_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_plane_test_bml_SOURCES = tests/unit/btl/plane/test-bml.c
tests_unit_btl_plane_test_bml_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_memory_test_desc_SOURCES = tests/unit/btl/memory/test-desc.c
tests_unit_btl_memory_test_desc_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_self_test_self_SOURCES = tests/unit/btl/self/test-self.c
tests_unit_btl_self_test_self_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_interface_test_farewell_SOURCES = tests/unit/btl/interface/test-farewell.c
tests_unit_btl_interface_test_farewell_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_framework_test_framework_SOURCES = tests/unit/btl/framework/test-framework.c
tests_unit_btl_framework_test_framework_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_peers_test_roster_SOURCES = tests/unit/btl/peers/test-roster.c
tests_unit_btl_peers_test_roster_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/modules/test-tap tests/unit/btl/lock/test-lock tests/unit/btl/peers/test-netcard \
	tests/unit/btl/sessions/test-host-probe
tests_unit_btl_sessions_test_host_probe_SOURCES = tests/unit/btl/sessions/test-host-probe.c
tests_unit_btl_sessions_test_host_probe_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_peers_test_netcard_SOURCES = tests/unit/btl/peers/test-netcard.c tests/unit/btl/peers/netcard.h
tests_unit_btl_peers_test_netcard_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_modules_test_tap_SOURCES = tests/unit/btl/modules/test-tap.c
tests_unit_btl_modules_test_tap_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_lock_test_lock_SOURCES = tests/unit/btl/lock/test-lock.c
tests_unit_btl_lock_test_lock_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_modules_test_table_SOURCES = tests/unit/btl/modules/test-table.c
tests_unit_btl_modules_test_table_LDADD = tests/lib/libunit.la libbtl.la libbase.la
# Its registry replaces the library's.
tests_unit_btl_peers_test_many_peers_SOURCES = tests/unit/btl/peers/test-many-peers.c
tests_unit_btl_peers_test_many_peers_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_plane_test_rails_SOURCES = tests/unit/btl/plane/test-rails.c
tests_unit_btl_plane_test_rails_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_progress_test_progress_SOURCES = tests/unit/btl/progress/test-progress.c
tests_unit_btl_progress_test_progress_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/framework/test-ext tests/unit/btl/framework/test-ftevent
tests_unit_btl_framework_test_ext_SOURCES = tests/unit/btl/framework/test-ext.c
tests_unit_btl_framework_test_ext_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_framework_test_ftevent_SOURCES = tests/unit/btl/framework/test-ftevent.c
tests_unit_btl_framework_test_ftevent_LDADD = tests/lib/libunit.la libbtl.la libbase.la
include $(srcdir)/tests/unit/btl/emulation/local.mk
include $(srcdir)/tests/unit/btl/sm/local.mk
include $(srcdir)/tests/unit/btl/tcp/local.mk
include $(srcdir)/tests/unit/btl/check/local.mk
include $(srcdir)/tests/unit/btl/ofi/local.mk
include $(srcdir)/tests/unit/btl/usnic/local.mk
check_PROGRAMS += tests/unit/btl/framework/test-stats
tests_unit_btl_framework_test_stats_SOURCES = tests/unit/btl/framework/test-stats.c
tests_unit_btl_framework_test_stats_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/framework/test-choice
# As in a build without libfabric.
tests_unit_btl_framework_test_choice_SOURCES = tests/unit/btl/framework/test-choice.c btl/ofi/ofi_absent.c btl/usnic/usnic_absent.c
tests_unit_btl_framework_test_choice_CFLAGS = $(AM_CFLAGS)
tests_unit_btl_framework_test_choice_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/plane/test-plane
tests_unit_btl_plane_test_plane_SOURCES = tests/unit/btl/plane/test-plane.c tests/lib/minihost.h \
	tests/lib/minihost.c
tests_unit_btl_plane_test_plane_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/peers/test-card
tests_unit_btl_peers_test_card_SOURCES = tests/unit/btl/peers/test-card.c
tests_unit_btl_peers_test_card_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/peers/test-peer tests/unit/btl/peers/test-connect
noted_wire = tests/unit/btl/peers/wire.h tests/unit/btl/peers/wire.c
tests_unit_btl_peers_test_peer_SOURCES = tests/unit/btl/peers/test-peer.c $(noted_wire)
tests_unit_btl_peers_test_peer_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_peers_test_connect_SOURCES = tests/unit/btl/peers/test-connect.c $(noted_wire)
tests_unit_btl_peers_test_connect_LDADD = tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/sessions/test-session tests/unit/btl/peers/test-peer-sim \
	tests/unit/btl/sessions/test-hello
tests_unit_btl_sessions_test_hello_SOURCES = tests/unit/btl/sessions/test-hello.c
tests_unit_btl_sessions_test_hello_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_sessions_test_session_SOURCES = tests/unit/btl/sessions/test-session.c
tests_unit_btl_sessions_test_session_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_peers_test_peer_sim_SOURCES = tests/unit/btl/peers/test-peer-sim.c tests/lib/sim/peers.h \
	tests/lib/sim/peers.c tests/lib/sim/peers_state.h tests/lib/sim/peers_transport.c
tests_unit_btl_peers_test_peer_sim_LDADD = tests/lib/libsim.la tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/test-udgram-wire
tests_unit_btl_test_udgram_wire_SOURCES = tests/unit/btl/test-udgram-wire.c $(UDGRAM)
tests_unit_btl_test_udgram_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
