# pmix: clients and tools of a PMIx server, without an MPI.
if OFFER_PMIX
check_PROGRAMS += tests/pmix/apart tests/pmix/connect tests/pmix/control tests/pmix/died \
	tests/pmix/events tests/pmix/fence tests/pmix/group tests/pmix/huddle tests/pmix/log \
	tests/pmix/names \
	tests/pmix/query tests/pmix/spawn tests/pmix/spawn_lost tests/pmix/spawn_where \
	tests/pmix/standstill tests/pmix/tool tests/pmix/values
tests_pmix_apart_SOURCES = tests/pmix/apart.c tests/pmix/pmix_test.h
tests_pmix_apart_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_apart_LDADD = $(PMIX_LIBS)
tests_pmix_connect_SOURCES = tests/pmix/connect.c tests/pmix/pmix_test.h
tests_pmix_connect_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_connect_LDADD = $(PMIX_LIBS)
tests_pmix_control_SOURCES = tests/pmix/control.c tests/pmix/pmix_test.h
tests_pmix_control_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_control_LDADD = $(PMIX_LIBS)
tests_pmix_died_SOURCES = tests/pmix/died.c tests/pmix/pmix_test.h
tests_pmix_died_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_died_LDADD = $(PMIX_LIBS)
tests_pmix_events_SOURCES = tests/pmix/events.c tests/pmix/pmix_test.h
tests_pmix_events_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_events_LDADD = $(PMIX_LIBS)
tests_pmix_fence_SOURCES = tests/pmix/fence.c tests/pmix/pmix_test.h
tests_pmix_fence_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_fence_LDADD = $(PMIX_LIBS)
tests_pmix_group_SOURCES = tests/pmix/group.c tests/pmix/pmix_test.h
tests_pmix_group_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_group_LDADD = $(PMIX_LIBS)
tests_pmix_huddle_SOURCES = tests/pmix/huddle.c tests/pmix/pmix_test.h
tests_pmix_huddle_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_huddle_LDADD = $(PMIX_LIBS)
tests_pmix_log_SOURCES = tests/pmix/log.c tests/pmix/pmix_test.h
tests_pmix_log_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_log_LDADD = $(PMIX_LIBS)
tests_pmix_names_SOURCES = tests/pmix/names.c tests/pmix/pmix_test.h
tests_pmix_names_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_names_LDADD = $(PMIX_LIBS)
tests_pmix_query_SOURCES = tests/pmix/query.c tests/pmix/pmix_test.h
tests_pmix_query_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_query_LDADD = $(PMIX_LIBS)
tests_pmix_spawn_SOURCES = tests/pmix/spawn.c tests/pmix/pmix_test.h
tests_pmix_spawn_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_spawn_LDADD = $(PMIX_LIBS)
tests_pmix_spawn_lost_SOURCES = tests/pmix/spawn_lost.c tests/pmix/pmix_test.h
tests_pmix_spawn_lost_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_spawn_lost_LDADD = $(PMIX_LIBS)
tests_pmix_spawn_where_SOURCES = tests/pmix/spawn_where.c tests/pmix/pmix_test.h
tests_pmix_spawn_where_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_spawn_where_LDADD = $(PMIX_LIBS)
tests_pmix_standstill_SOURCES = tests/pmix/standstill.c tests/pmix/pmix_test.h
tests_pmix_standstill_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_standstill_LDADD = $(PMIX_LIBS)
tests_pmix_tool_SOURCES = tests/pmix/tool.c tests/pmix/pmix_test.h
tests_pmix_tool_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_tool_LDADD = $(PMIX_LIBS)
tests_pmix_values_SOURCES = tests/pmix/values.c tests/pmix/pmix_test.h
tests_pmix_values_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_pmix_values_LDADD = $(PMIX_LIBS)
endif
