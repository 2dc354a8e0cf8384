# tests of wireup/
check_PROGRAMS += \
	tests/unit/wireup/test-cards tests/unit/wireup/test-codec tests/unit/wireup/test-frame tests/unit/wireup/test-proto tests/unit/wireup/test-job-map tests/unit/wireup/test-look
tests_unit_wireup_test_cards_SOURCES = tests/unit/wireup/test-cards.c
tests_unit_wireup_test_cards_LDADD = tests/lib/libunit.la libwireup.la libbase.la
tests_unit_wireup_test_codec_SOURCES = tests/unit/wireup/test-codec.c $(DECODER)
tests_unit_wireup_test_codec_LDADD = tests/lib/libunit.la libwireup.la libbase.la
tests_unit_wireup_test_frame_SOURCES = tests/unit/wireup/test-frame.c
tests_unit_wireup_test_frame_LDADD = tests/lib/libunit.la libwireup.la libbase.la
tests_unit_wireup_test_proto_SOURCES = tests/unit/wireup/test-proto.c $(DECODER)
tests_unit_wireup_test_proto_LDADD = tests/lib/libunit.la libwireup.la libbase.la
tests_unit_wireup_test_job_map_SOURCES = tests/unit/wireup/test-job-map.c $(DECODER)
tests_unit_wireup_test_job_map_LDADD = tests/lib/libunit.la libwireup.la libbase.la
tests_unit_wireup_test_look_SOURCES = tests/unit/wireup/test-look.c
tests_unit_wireup_test_look_LDADD = tests/lib/libunit.la libwireup.la libbase.la
