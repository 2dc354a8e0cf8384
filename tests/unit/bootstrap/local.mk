# tests of bootstrap/
bootstrap_test_libs = tests/lib/libunit.la libbootstrap.la librml.la liboob.la libbtl.la libbase.la
check_PROGRAMS += \
	tests/unit/bootstrap/test-cards tests/unit/bootstrap/test-proto \
	tests/unit/bootstrap/test-job-map tests/unit/bootstrap/test-env
tests_unit_bootstrap_test_cards_SOURCES = tests/unit/bootstrap/test-cards.c
tests_unit_bootstrap_test_cards_LDADD = tests/lib/libunit.la libbootserver.la libbase.la
tests_unit_bootstrap_test_proto_SOURCES = tests/unit/bootstrap/test-proto.c $(DECODER)
tests_unit_bootstrap_test_proto_LDADD = tests/lib/libunit.la libbootserver.la libbase.la
tests_unit_bootstrap_test_job_map_SOURCES = tests/unit/bootstrap/test-job-map.c $(DECODER)
tests_unit_bootstrap_test_job_map_LDADD = tests/lib/libunit.la libbootserver.la libbase.la
tests_unit_bootstrap_test_env_SOURCES = tests/unit/bootstrap/test-env.c
tests_unit_bootstrap_test_env_LDADD = $(bootstrap_test_libs)

# Servers and native back ends in one process.
check_PROGRAMS += tests/unit/bootstrap/test-server
tests_unit_bootstrap_test_server_SOURCES = tests/unit/bootstrap/test-server.c $(RML_CLUSTER)
tests_unit_bootstrap_test_server_LDADD = tests/lib/libunit.la libbootserver.la libbootstrap.la \
	librml.la liboob.la libbtl.la libbase.la

# The public calls, from outside: only libkeel.
check_PROGRAMS += tests/unit/bootstrap/test-alone
tests_unit_bootstrap_test_alone_SOURCES = tests/unit/bootstrap/test-alone.c
tests_unit_bootstrap_test_alone_LDADD = tests/lib/libunit.la lib/libkeel.la
check_PROGRAMS += tests/unit/bootstrap/test-allgather
tests_unit_bootstrap_test_allgather_SOURCES = tests/unit/bootstrap/test-allgather.c
tests_unit_bootstrap_test_allgather_LDADD = tests/lib/libunit.la libbootserver.la librml.la \
	liboob.la libbase.la

# The back end under a PMIx server; the server is the test's own.
check_PROGRAMS += tests/unit/bootstrap/test-handover tests/unit/bootstrap/test-pmix-job \
	tests/unit/bootstrap/test-pmix
tests_unit_bootstrap_test_handover_SOURCES = tests/unit/bootstrap/test-handover.c
tests_unit_bootstrap_test_handover_LDADD = $(bootstrap_test_libs)
tests_unit_bootstrap_test_pmix_job_SOURCES = tests/unit/bootstrap/test-pmix-job.c
tests_unit_bootstrap_test_pmix_job_LDADD = $(bootstrap_test_libs)
tests_unit_bootstrap_test_pmix_SOURCES = tests/unit/bootstrap/test-pmix.c \
	tests/unit/bootstrap/pmix-server.c tests/unit/bootstrap/pmix-server.h $(RML_CLUSTER)
tests_unit_bootstrap_test_pmix_LDADD = tests/lib/libunit.la libbootserver.la $(bootstrap_test_libs)
