# tests of ptl/
check_PROGRAMS += tests/unit/ptl/test-seed-ptl tests/unit/ptl/test-ptl
tests_unit_ptl_test_seed_ptl_SOURCES = tests/unit/ptl/test-seed-ptl.c tests/unit/base/seed.h
tests_unit_ptl_test_seed_ptl_LDADD = tests/lib/libunit.la libbase.la
tests_unit_ptl_test_ptl_SOURCES = tests/unit/ptl/test-ptl.c tests/unit/ptl/mock.h tests/unit/ptl/mock.c
tests_unit_ptl_test_ptl_LDADD = tests/lib/libunit.la libptl.la libbase.la
check_PROGRAMS += tests/unit/ptl/test-rail
tests_unit_ptl_test_rail_SOURCES = tests/unit/ptl/test-rail.c tests/lib/minihost.h tests/lib/minihost.c
tests_unit_ptl_test_rail_LDADD = tests/lib/libunit.la libptl.la libbtl.la libbase.la
check_PROGRAMS += tests/unit/ptl/test-rail-wire tests/unit/ptl/test-rail-window
tests_unit_ptl_test_rail_window_SOURCES = tests/unit/ptl/test-rail-window.c
tests_unit_ptl_test_rail_window_LDADD = tests/lib/libunit.la libptl.la libbase.la
tests_unit_ptl_test_rail_wire_SOURCES = tests/unit/ptl/test-rail-wire.c
tests_unit_ptl_test_rail_wire_LDADD = tests/lib/libunit.la libptl.la libbase.la
