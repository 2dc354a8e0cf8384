# tests of rml/
check_PROGRAMS += \
	tests/unit/rml/test-tree tests/unit/rml/test-wire tests/unit/rml/test-route \
	tests/unit/rml/test-match tests/unit/rml/test-assemble
tests_unit_rml_test_tree_SOURCES = tests/unit/rml/test-tree.c
tests_unit_rml_test_tree_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_wire_SOURCES = tests/unit/rml/test-wire.c
tests_unit_rml_test_wire_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_route_SOURCES = tests/unit/rml/test-route.c
tests_unit_rml_test_route_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_match_SOURCES = tests/unit/rml/test-match.c
tests_unit_rml_test_match_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_assemble_SOURCES = tests/unit/rml/test-assemble.c
tests_unit_rml_test_assemble_LDADD = tests/lib/libunit.la librml.la libbase.la

# The delivery protocol's parts, alone and in simulated processes.
check_LTLIBRARIES += tests/lib/libsim.la
tests_lib_libsim_la_SOURCES = \
	tests/lib/sim/forest.c tests/lib/sim/forest.h tests/lib/sim/forest_state.h \
	tests/lib/sim/forest_daemons.c tests/lib/sim/forest_links.c \
	tests/lib/sim/network.c tests/lib/sim/network.h \
	tests/lib/sim/world.c tests/lib/sim/world.h tests/lib/sim/world_state.h \
	tests/lib/sim/world_faults.c tests/lib/sim/world_messages.c
tests_lib_libsim_la_LIBADD = tests/lib/libwire.la
check_PROGRAMS += \
	tests/unit/rml/test-sender tests/unit/rml/test-receiver tests/unit/rml/test-session \
	tests/unit/rml/test-credit tests/unit/rml/test-cut tests/unit/rml/test-sim
tests_unit_rml_test_cut_SOURCES = tests/unit/rml/test-cut.c
tests_unit_rml_test_cut_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_sender_SOURCES = tests/unit/rml/test-sender.c
tests_unit_rml_test_sender_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_receiver_SOURCES = tests/unit/rml/test-receiver.c
tests_unit_rml_test_receiver_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_session_SOURCES = tests/unit/rml/test-session.c
tests_unit_rml_test_session_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_credit_SOURCES = tests/unit/rml/test-credit.c
tests_unit_rml_test_credit_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_sim_SOURCES = tests/unit/rml/test-sim.c
tests_unit_rml_test_sim_LDADD = tests/lib/libsim.la tests/lib/libunit.la librml.la libbase.la

# Several RMLs in one process.
RML_CLUSTER = tests/unit/rml/cluster.c tests/unit/rml/cluster.h
check_PROGRAMS += \
	tests/unit/rml/test-calls tests/unit/rml/test-order tests/unit/rml/test-links \
	tests/unit/rml/test-module tests/unit/rml/test-defer tests/unit/rml/test-resolve \
	tests/unit/rml/test-exception
tests_unit_rml_test_exception_SOURCES = tests/unit/rml/test-exception.c $(RML_CLUSTER) $(TEST_CLOCK)
tests_unit_rml_test_exception_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
check_PROGRAMS += tests/unit/rml/test-ftevent
tests_unit_rml_test_ftevent_SOURCES = tests/unit/rml/test-ftevent.c $(RML_CLUSTER) $(TEST_CLOCK)
tests_unit_rml_test_ftevent_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
tests_unit_rml_test_calls_SOURCES = tests/unit/rml/test-calls.c $(RML_CLUSTER)
tests_unit_rml_test_calls_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
tests_unit_rml_test_order_SOURCES = tests/unit/rml/test-order.c $(RML_CLUSTER)
tests_unit_rml_test_order_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
tests_unit_rml_test_links_SOURCES = tests/unit/rml/test-links.c $(RML_CLUSTER)
tests_unit_rml_test_links_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
tests_unit_rml_test_module_SOURCES = tests/unit/rml/test-module.c $(RML_CLUSTER)
tests_unit_rml_test_module_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
tests_unit_rml_test_defer_SOURCES = tests/unit/rml/test-defer.c $(RML_CLUSTER)
tests_unit_rml_test_defer_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
tests_unit_rml_test_resolve_SOURCES = tests/unit/rml/test-resolve.c $(RML_CLUSTER)
tests_unit_rml_test_resolve_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
check_PROGRAMS += tests/unit/rml/test-mend
tests_unit_rml_test_mend_SOURCES = tests/unit/rml/test-mend.c $(RML_CLUSTER)
tests_unit_rml_test_mend_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
check_PROGRAMS += tests/unit/rml/test-cast tests/unit/rml/test-cast-wire tests/unit/rml/test-xcast
tests_unit_rml_test_cast_SOURCES = tests/unit/rml/test-cast.c
tests_unit_rml_test_cast_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_cast_wire_SOURCES = tests/unit/rml/test-cast-wire.c
tests_unit_rml_test_cast_wire_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_xcast_SOURCES = tests/unit/rml/test-xcast.c $(RML_CLUSTER) $(TEST_CLOCK)
tests_unit_rml_test_xcast_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
check_PROGRAMS += tests/unit/rml/test-pack
tests_unit_rml_test_pack_SOURCES = tests/unit/rml/test-pack.c
tests_unit_rml_test_pack_LDADD = tests/lib/libunit.la librml.la libbase.la
check_PROGRAMS += tests/unit/rml/test-forest
tests_unit_rml_test_forest_SOURCES = tests/unit/rml/test-forest.c
tests_unit_rml_test_forest_LDADD = tests/lib/libsim.la tests/lib/libunit.la librml.la libbase.la
check_PROGRAMS += tests/unit/rml/test-memory
tests_unit_rml_test_memory_SOURCES = tests/unit/rml/test-memory.c $(RML_CLUSTER)
tests_unit_rml_test_memory_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
check_PROGRAMS += tests/unit/rml/test-circle tests/unit/rml/test-ends
tests_unit_rml_test_circle_SOURCES = tests/unit/rml/test-circle.c
tests_unit_rml_test_circle_LDADD = tests/lib/libunit.la librml.la libbase.la
tests_unit_rml_test_ends_SOURCES = tests/unit/rml/test-ends.c $(RML_CLUSTER) $(TEST_CLOCK)
tests_unit_rml_test_ends_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
check_PROGRAMS += tests/unit/rml/test-bomb
tests_unit_rml_test_bomb_SOURCES = tests/unit/rml/test-bomb.c $(RML_CLUSTER)
tests_unit_rml_test_bomb_LDADD = tests/lib/libunit.la librml.la liboob.la libbase.la
