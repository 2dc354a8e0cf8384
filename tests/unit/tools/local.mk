# tests of tools/
check_PROGRAMS += tests/unit/tools/test-buffer
tests_unit_tools_test_buffer_SOURCES = tests/unit/tools/test-buffer.c tools/buffer.h
tests_unit_tools_test_buffer_LDADD = tests/lib/libunit.la
