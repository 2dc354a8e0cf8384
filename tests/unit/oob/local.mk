# tests of oob/
check_PROGRAMS += tests/unit/oob/test-contact tests/unit/oob/test-record

tests_unit_oob_test_contact_SOURCES = tests/unit/oob/test-contact.c
tests_unit_oob_test_contact_LDADD = tests/lib/libunit.la liboob.la libbase.la

tests_unit_oob_test_record_SOURCES = tests/unit/oob/test-record.c
tests_unit_oob_test_record_LDADD = tests/lib/libunit.la liboob.la libbase.la

check_PROGRAMS += tests/unit/oob/test-handshake
tests_unit_oob_test_handshake_SOURCES = tests/unit/oob/test-handshake.c
tests_unit_oob_test_handshake_LDADD = tests/lib/libunit.la liboob.la libbase.la

# Links over real sockets.
check_LTLIBRARIES += tests/unit/oob/libside.la
tests_unit_oob_libside_la_SOURCES = tests/unit/oob/side.h tests/unit/oob/side.c
tests_unit_oob_libside_la_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/unit/oob/test-link
tests_unit_oob_test_link_SOURCES = tests/unit/oob/test-link.c
tests_unit_oob_test_link_LDADD = tests/unit/oob/libside.la tests/lib/libunit.la liboob.la libbase.la

check_PROGRAMS += tests/unit/oob/test-door
tests_unit_oob_test_door_SOURCES = tests/unit/oob/test-door.c $(TEST_CLOCK)
tests_unit_oob_test_door_LDADD = tests/unit/oob/libside.la tests/lib/libunit.la liboob.la libbase.la

check_PROGRAMS += tests/unit/oob/test-ping
tests_unit_oob_test_ping_SOURCES = tests/unit/oob/test-ping.c $(TEST_CLOCK)
tests_unit_oob_test_ping_LDADD = tests/unit/oob/libside.la tests/lib/libunit.la liboob.la libbase.la

check_PROGRAMS += tests/unit/oob/test-inbox
tests_unit_oob_test_inbox_SOURCES = tests/unit/oob/test-inbox.c
tests_unit_oob_test_inbox_LDADD = tests/lib/libunit.la liboob.la libbase.la

check_PROGRAMS += tests/unit/oob/test-pulse tests/unit/oob/test-watch
tests_unit_oob_test_pulse_SOURCES = tests/unit/oob/test-pulse.c
tests_unit_oob_test_pulse_LDADD = tests/lib/libunit.la liboob.la libbase.la
tests_unit_oob_test_watch_SOURCES = tests/unit/oob/test-watch.c $(TEST_CLOCK)
tests_unit_oob_test_watch_LDADD = tests/unit/oob/libside.la tests/lib/libunit.la liboob.la libbase.la
check_PROGRAMS += tests/unit/oob/test-tamper
tests_unit_oob_test_tamper_SOURCES = tests/unit/oob/test-tamper.c
tests_unit_oob_test_tamper_LDADD = tests/unit/oob/libside.la tests/lib/libunit.la liboob.la libbase.la
check_PROGRAMS += tests/unit/oob/test-crowd
tests_unit_oob_test_crowd_SOURCES = tests/unit/oob/test-crowd.c
tests_unit_oob_test_crowd_LDADD = tests/unit/oob/libside.la tests/lib/libunit.la liboob.la libbase.la
check_PROGRAMS += tests/unit/oob/test-addresses
tests_unit_oob_test_addresses_SOURCES = tests/unit/oob/test-addresses.c $(TEST_CLOCK)
tests_unit_oob_test_addresses_LDADD = tests/unit/oob/libside.la tests/lib/libunit.la liboob.la libbase.la
