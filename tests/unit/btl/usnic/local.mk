# tests of btl/usnic: the bytes of its wire
check_PROGRAMS += tests/unit/btl/usnic/test-packet tests/unit/btl/usnic/test-card tests/unit/btl/usnic/test-frame
tests_unit_btl_usnic_test_packet_SOURCES = tests/unit/btl/usnic/test-packet.c
tests_unit_btl_usnic_test_packet_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_card_SOURCES = tests/unit/btl/usnic/test-card.c tests/unit/btl/peers/netcard.h
tests_unit_btl_usnic_test_card_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_frame_SOURCES = tests/unit/btl/usnic/test-frame.c
tests_unit_btl_usnic_test_frame_LDADD = tests/lib/libunit.la libbtl.la libbase.la
# The engine.
check_PROGRAMS += tests/unit/btl/usnic/test-check tests/unit/btl/usnic/test-window \
	tests/unit/btl/usnic/test-take tests/unit/btl/usnic/test-transmit tests/unit/btl/usnic/test-end
tests_unit_btl_usnic_test_end_SOURCES = tests/unit/btl/usnic/test-end.c
tests_unit_btl_usnic_test_end_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_transmit_SOURCES = tests/unit/btl/usnic/test-transmit.c
tests_unit_btl_usnic_test_transmit_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_check_SOURCES = tests/unit/btl/usnic/test-check.c
tests_unit_btl_usnic_test_check_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_take_SOURCES = tests/unit/btl/usnic/test-take.c
tests_unit_btl_usnic_test_take_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_window_SOURCES = tests/unit/btl/usnic/test-window.c
tests_unit_btl_usnic_test_window_LDADD = tests/lib/libunit.la libbtl.la libbase.la
# The simulation, and what a test of it takes out of production.
usnic_sim = tests/unit/btl/usnic/sim.h tests/unit/btl/usnic/sim.c tests/unit/btl/usnic/sabotage.c
usnic_sabotaged = -Wl,--wrap=usnic_order_take,--wrap=usnic_order_ranges,--wrap=usnic_window_acked \
	-Wl,--wrap=usnic_rtt_backoff,--wrap=usnic_rtt_probe_us,--wrap=usnic_rate_allows \
	-Wl,--wrap=usnic_header_encode,--wrap=wheel_expire,--wrap=usnic_end_next
check_PROGRAMS += tests/unit/btl/usnic/test-sim
tests_unit_btl_usnic_test_sim_SOURCES = tests/unit/btl/usnic/test-sim.c \
	tests/unit/btl/usnic/schedule.h tests/unit/btl/usnic/schedule.c $(usnic_sim)
tests_unit_btl_usnic_test_sim_LDFLAGS = $(AM_LDFLAGS) $(usnic_sabotaged)
tests_unit_btl_usnic_test_sim_LDADD = tests/lib/libsim.la tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/usnic/test-rate
tests_unit_btl_usnic_test_rate_SOURCES = tests/unit/btl/usnic/test-rate.c $(usnic_sim)
tests_unit_btl_usnic_test_rate_LDFLAGS = $(AM_LDFLAGS) $(usnic_sabotaged)
tests_unit_btl_usnic_test_rate_LDADD = tests/lib/libsim.la tests/lib/libunit.la libbtl.la libbase.la
# The module.
if HAVE_FABRIC
check_PROGRAMS += tests/unit/btl/usnic/test-module tests/unit/btl/usnic/test-port tests/unit/btl/usnic/test-many
tests_unit_btl_usnic_test_many_SOURCES = tests/unit/btl/usnic/test-many.c
tests_unit_btl_usnic_test_many_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_module_SOURCES = tests/unit/btl/usnic/test-module.c
tests_unit_btl_usnic_test_module_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_port_SOURCES = tests/unit/btl/usnic/test-port.c
tests_unit_btl_usnic_test_port_LDADD = tests/lib/libunit.la libbtl.la libbase.la
endif
