# tests of compat/: through libkeel, as a program sees it.
check_PROGRAMS += tests/unit/compat/test-seed-compat tests/unit/compat/test-names \
	tests/unit/compat/test-argv tests/unit/compat/test-output
tests_unit_compat_test_seed_compat_SOURCES = tests/unit/compat/test-seed-compat.c
tests_unit_compat_test_seed_compat_CPPFLAGS = -I$(top_srcdir)/include/compat $(AM_CPPFLAGS)
tests_unit_compat_test_seed_compat_LDADD = tests/lib/libunit.la lib/libkeel.la
tests_unit_compat_test_names_SOURCES = tests/unit/compat/test-names.c
tests_unit_compat_test_names_CPPFLAGS = -I$(top_srcdir)/include/compat $(AM_CPPFLAGS)
tests_unit_compat_test_names_LDADD = tests/lib/libunit.la lib/libkeel.la
tests_unit_compat_test_argv_SOURCES = tests/unit/compat/test-argv.c
tests_unit_compat_test_argv_CPPFLAGS = -I$(top_srcdir)/include/compat $(AM_CPPFLAGS)
tests_unit_compat_test_argv_LDADD = tests/lib/libunit.la lib/libkeel.la
tests_unit_compat_test_output_SOURCES = tests/unit/compat/test-output.c
tests_unit_compat_test_output_CPPFLAGS = -I$(top_srcdir)/include/compat $(AM_CPPFLAGS)
tests_unit_compat_test_output_LDADD = tests/lib/libunit.la lib/libkeel.la
