# tests of bootstrap/
bootstrap_test_libs = tests/lib/libunit.la libbootstrap.la libwireup.la librml.la liboob.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/bootstrap/test-env
tests_unit_bootstrap_test_env_SOURCES = tests/unit/bootstrap/test-env.c
tests_unit_bootstrap_test_env_LDADD = $(bootstrap_test_libs)

# The public calls, from outside: only libkeel.
check_PROGRAMS += tests/unit/bootstrap/test-alone
tests_unit_bootstrap_test_alone_SOURCES = tests/unit/bootstrap/test-alone.c
tests_unit_bootstrap_test_alone_LDADD = tests/lib/libunit.la lib/libkeel.la

# The back end under a PMIx server; the server is the test's own.
check_PROGRAMS += tests/unit/bootstrap/test-pmix-job tests/unit/bootstrap/test-pmix
tests_unit_bootstrap_test_pmix_job_SOURCES = tests/unit/bootstrap/test-pmix-job.c
tests_unit_bootstrap_test_pmix_job_LDADD = $(bootstrap_test_libs)
tests_unit_bootstrap_test_pmix_SOURCES = tests/unit/bootstrap/test-pmix.c \
	tests/unit/bootstrap/pmix-server.c tests/unit/bootstrap/pmix-server.h $(RML_CLUSTER)
tests_unit_bootstrap_test_pmix_LDADD = $(bootstrap_test_libs)
