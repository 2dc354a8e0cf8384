# tests of launcher/

# The shepherd, and what stands beside the daemon's core.
UNIT_TESTS += tests/unit/launcher/test-shepherd tests/unit/launcher/test-shepherd-end
tests_unit_launcher_test_shepherd_SOURCES = tests/unit/launcher/test-shepherd.c \
	tests/unit/launcher/world.h tests/unit/launcher/world.c
tests_unit_launcher_test_shepherd_LDADD = tests/lib/libunit.la liblauncher.la libbase.la
tests_unit_launcher_test_shepherd_end_SOURCES = tests/unit/launcher/test-shepherd-end.c \
	tests/unit/launcher/world.h tests/unit/launcher/world.c
tests_unit_launcher_test_shepherd_end_LDADD = tests/lib/libunit.la liblauncher.la libbase.la
