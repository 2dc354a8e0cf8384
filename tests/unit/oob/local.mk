# tests of oob/
UNIT_TESTS += tests/unit/oob/test-contact tests/unit/oob/test-record

tests_unit_oob_test_contact_SOURCES = tests/unit/oob/test-contact.c
tests_unit_oob_test_contact_LDADD = tests/lib/libunit.la liboob.la libbase.la

tests_unit_oob_test_record_SOURCES = tests/unit/oob/test-record.c
tests_unit_oob_test_record_LDADD = tests/lib/libunit.la liboob.la libbase.la

UNIT_TESTS += tests/unit/oob/test-handshake
tests_unit_oob_test_handshake_SOURCES = tests/unit/oob/test-handshake.c
tests_unit_oob_test_handshake_LDADD = tests/lib/libunit.la liboob.la libbase.la
