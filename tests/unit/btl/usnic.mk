# tests of btl/usnic's engine
check_PROGRAMS += tests/unit/btl/usnic/test-wire tests/unit/btl/usnic/test-window \
	tests/unit/btl/usnic/test-take
tests_unit_btl_usnic_test_take_SOURCES = tests/unit/btl/usnic/test-take.c
tests_unit_btl_usnic_test_take_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_wire_SOURCES = tests/unit/btl/usnic/test-wire.c
tests_unit_btl_usnic_test_wire_LDADD = tests/lib/libunit.la libbtl.la libbase.la
tests_unit_btl_usnic_test_window_SOURCES = tests/unit/btl/usnic/test-window.c
tests_unit_btl_usnic_test_window_LDADD = tests/lib/libunit.la libbtl.la libbase.la
# The simulation, and what a test of it takes out of production.
usnic_sim = tests/unit/btl/usnic/sim.h tests/unit/btl/usnic/sim.c tests/unit/btl/usnic/sabotage.c
usnic_sabotaged = -Wl,--wrap=usnic_order_take,--wrap=usnic_order_ranges,--wrap=usnic_window_acked \
	-Wl,--wrap=usnic_rtt_backoff,--wrap=usnic_rtt_probe_us,--wrap=usnic_rate_allows \
	-Wl,--wrap=usnic_header_encode,--wrap=wheel_expire
check_PROGRAMS += tests/unit/btl/usnic/test-sim
tests_unit_btl_usnic_test_sim_SOURCES = tests/unit/btl/usnic/test-sim.c \
	tests/unit/btl/usnic/schedule.h tests/unit/btl/usnic/schedule.c $(usnic_sim)
tests_unit_btl_usnic_test_sim_LDFLAGS = $(AM_LDFLAGS) $(usnic_sabotaged)
tests_unit_btl_usnic_test_sim_LDADD = tests/lib/libsim.la tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/usnic/test-rate
tests_unit_btl_usnic_test_rate_SOURCES = tests/unit/btl/usnic/test-rate.c $(usnic_sim)
tests_unit_btl_usnic_test_rate_LDFLAGS = $(AM_LDFLAGS) $(usnic_sabotaged)
tests_unit_btl_usnic_test_rate_LDADD = tests/lib/libsim.la tests/lib/libunit.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl/usnic/test-many
tests_unit_btl_usnic_test_many_SOURCES = tests/unit/btl/usnic/test-many.c
tests_unit_btl_usnic_test_many_LDADD = tests/lib/libunit.la libbtl.la libbase.la
