# tests of pml/
check_PROGRAMS += \
	tests/unit/pml/match/test-queues tests/unit/pml/match/test-match tests/unit/pml/match/test-match-model \
	tests/unit/pml/match/test-early tests/unit/pml/pieces/test-schedule tests/unit/pml/test-pml \
	tests/unit/pml/test-pml-contexts tests/unit/pml/test-pml-ends \
	tests/unit/pml/test-pml-deaths tests/unit/pml/test-pml-rail \
	tests/unit/pml/process/test-process tests/unit/pml/pieces/test-rate tests/unit/pml/peers/test-stripe \
	tests/unit/pml/test-pml-sim
pml_libs = tests/lib/libunit.la libpml.la libbase.la
tests_unit_pml_match_test_queues_SOURCES = tests/unit/pml/match/test-queues.c
tests_unit_pml_match_test_queues_LDADD = $(pml_libs)
tests_unit_pml_match_test_match_SOURCES = tests/unit/pml/match/test-match.c
tests_unit_pml_match_test_match_LDADD = $(pml_libs)
tests_unit_pml_match_test_match_model_SOURCES = tests/unit/pml/match/test-match-model.c
tests_unit_pml_match_test_match_model_LDADD = $(pml_libs)
tests_unit_pml_match_test_early_SOURCES = tests/unit/pml/match/test-early.c
tests_unit_pml_match_test_early_LDADD = $(pml_libs)
tests_unit_pml_pieces_test_schedule_SOURCES = tests/unit/pml/pieces/test-schedule.c
tests_unit_pml_pieces_test_schedule_LDADD = $(pml_libs)
tests_unit_pml_pieces_test_rate_SOURCES = tests/unit/pml/pieces/test-rate.c
tests_unit_pml_pieces_test_rate_LDADD = $(pml_libs)
pml_world = tests/unit/pml/world.h tests/unit/pml/world.c tests/unit/pml/world_ranks.c
pml_world_libs = tests/lib/libunit.la libpml.la libptl.la libbase.la
pml_ranks = tests/unit/pml/ranks.h tests/unit/pml/ranks.c $(pml_world)
tests_unit_pml_test_pml_SOURCES = tests/unit/pml/test-pml.c $(pml_ranks)
tests_unit_pml_test_pml_LDADD = $(pml_world_libs)
tests_unit_pml_test_pml_contexts_SOURCES = tests/unit/pml/test-pml-contexts.c $(pml_ranks)
tests_unit_pml_test_pml_contexts_LDADD = $(pml_world_libs)
tests_unit_pml_test_pml_ends_SOURCES = tests/unit/pml/test-pml-ends.c $(pml_ranks)
tests_unit_pml_test_pml_ends_LDADD = $(pml_world_libs)
tests_unit_pml_peers_test_stripe_SOURCES = tests/unit/pml/peers/test-stripe.c $(pml_world)
tests_unit_pml_peers_test_stripe_LDADD = $(pml_world_libs)
tests_unit_pml_process_test_process_SOURCES = tests/unit/pml/process/test-process.c $(pml_world)
tests_unit_pml_process_test_process_LDADD = $(pml_world_libs)
tests_unit_pml_test_pml_deaths_SOURCES = tests/unit/pml/test-pml-deaths.c $(pml_world)
tests_unit_pml_test_pml_deaths_LDADD = $(pml_world_libs)
tests_unit_pml_test_pml_rail_SOURCES = tests/unit/pml/test-pml-rail.c tests/lib/minihost.h tests/lib/minihost.c
tests_unit_pml_test_pml_rail_LDADD = tests/lib/libunit.la libpml.la libptl.la libbtl.la libbase.la
tests_unit_pml_test_pml_sim_SOURCES = tests/unit/pml/test-pml-sim.c \
	tests/unit/pml/sim/sim.h tests/unit/pml/sim/state.h tests/unit/pml/sim/sim.c \
	tests/unit/pml/sim/process.c tests/unit/pml/sim/modules.c tests/unit/pml/sim/rdma.c \
	tests/unit/pml/sim/faults.c tests/unit/pml/sim/handshake.c \
	tests/unit/pml/sim/program.c tests/unit/pml/sim/sabotage.c
sabotaged = -Wl,--wrap=rail_decode_number,--wrap=rail_window_take,--wrap=rail_set_came \
	-Wl,--wrap=rail_encode_came,--wrap=match_at_once,--wrap=match_arrive,--wrap=range_add \
	-Wl,--wrap=rail_ptl_get,--wrap=rail_link_renew
tests_unit_pml_test_pml_sim_LDFLAGS = $(AM_LDFLAGS) $(sabotaged)
tests_unit_pml_test_pml_sim_LDADD = tests/lib/libsim.la tests/lib/libunit.la libpml.la libptl.la libbtl.la libbase.la
