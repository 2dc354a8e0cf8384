# tests of btl2/
check_PROGRAMS += tests/unit/btl2/test-seed-btl2
tests_unit_btl2_test_seed_btl2_SOURCES = tests/unit/btl2/test-seed-btl2.c tests/unit/base/seed.h
tests_unit_btl2_test_seed_btl2_CPPFLAGS = $(COMPAT_CPPFLAGS) -I$(top_srcdir) -I$(top_builddir)
tests_unit_btl2_test_seed_btl2_LDADD = tests/lib/libunit.la libbtl2.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/btl2/test-btl2
tests_unit_btl2_test_btl2_SOURCES = tests/unit/btl2/test-btl2.c tests/lib/minihost.h tests/lib/minihost.c
tests_unit_btl2_test_btl2_LDADD = tests/lib/libunit.la libbtl2.la libbtl.la libbase.la
