# system: TAP scripts over the built programs, and the programs that they start.
check_PROGRAMS += tests/system/visitor
tests_system_visitor_SOURCES = tests/system/visitor.c
tests_system_visitor_CPPFLAGS = -I$(top_srcdir)/include
tests_system_visitor_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_visitor_LDADD = lib/libkeel.la

check_PROGRAMS += tests/system/neighbour tests/system/stranger
tests_system_stranger_SOURCES = tests/system/stranger.c
check_PROGRAMS += tests/system/datagrams tests/system/forger
tests_system_datagrams_SOURCES = tests/system/datagrams.c
tests_system_forger_SOURCES = tests/system/forger.c
tests_system_forger_LDADD = libbtl.la libbase.la
tests_system_neighbour_SOURCES = tests/system/neighbour.c
check_PROGRAMS += tests/system/crash
tests_system_crash_SOURCES = tests/system/crash.c
tests_system_crash_CFLAGS = $(AM_CFLAGS) -fno-sanitize=all
tests_system_crash_LDFLAGS = -pthread
check_PROGRAMS += tests/system/flood tests/system/poke tests/system/member
tests_system_flood_SOURCES = tests/system/flood.c
tests_system_poke_SOURCES = tests/system/poke.c
tests_system_member_SOURCES = tests/system/member.c
tests_system_member_CPPFLAGS = -I$(top_srcdir)/include
tests_system_member_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_member_LDADD = lib/libkeel.la

if OFFER_PMIX
check_PROGRAMS += tests/system/goodbye
tests_system_goodbye_SOURCES = tests/system/goodbye.c
tests_system_goodbye_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_system_goodbye_LDADD = $(PMIX_LIBS)
check_PROGRAMS += tests/system/places
tests_system_places_SOURCES = tests/system/places.c
tests_system_places_CFLAGS = $(AM_CFLAGS) $(PMIX_CFLAGS)
tests_system_places_LDADD = $(PMIX_LIBS)
endif
check_PROGRAMS += tests/system/peers
tests_system_peers_SOURCES = tests/system/peers.c
tests_system_peers_CPPFLAGS = -I$(top_srcdir)/include
tests_system_peers_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_peers_LDADD = lib/libkeel.la
check_PROGRAMS += tests/system/all-to-all
tests_system_all_to_all_SOURCES = tests/system/all-to-all.c tests/system/must.h
tests_system_all_to_all_CPPFLAGS = -I$(top_srcdir)/include
tests_system_all_to_all_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_all_to_all_LDADD = lib/libkeel.la
check_PROGRAMS += tests/system/bereft
tests_system_bereft_SOURCES = tests/system/bereft.c
tests_system_bereft_CPPFLAGS = -I$(top_srcdir)/include
tests_system_bereft_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_bereft_LDADD = lib/libkeel.la
check_PROGRAMS += tests/system/survivor
tests_system_survivor_SOURCES = tests/system/survivor.c
tests_system_survivor_CPPFLAGS = -I$(top_srcdir)/include
tests_system_survivor_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_survivor_LDADD = lib/libkeel.la
check_PROGRAMS += tests/system/bulk
tests_system_bulk_SOURCES = tests/system/bulk.c
tests_system_bulk_CPPFLAGS = -I$(top_srcdir)/include
tests_system_bulk_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_bulk_LDADD = lib/libkeel.la
check_PROGRAMS += tests/system/mourner
tests_system_mourner_SOURCES = tests/system/mourner.c
tests_system_mourner_CPPFLAGS = -I$(top_srcdir)/include
tests_system_mourner_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_mourner_LDADD = lib/libkeel.la

check_PROGRAMS += tests/system/anew
tests_system_anew_SOURCES = tests/system/anew.c tests/system/must.h
tests_system_anew_CPPFLAGS = -I$(top_srcdir)/include
tests_system_anew_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_anew_LDADD = lib/libkeel.la
check_PROGRAMS += tests/system/detour
tests_system_detour_SOURCES = tests/system/detour.c
tests_system_detour_CPPFLAGS = -I$(top_srcdir)/include
tests_system_detour_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_detour_LDADD = lib/libkeel.la
check_PROGRAMS += tests/system/outage
tests_system_outage_SOURCES = tests/system/outage.c tests/system/must.h
tests_system_outage_CPPFLAGS = -I$(top_srcdir)/include
tests_system_outage_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_outage_LDADD = lib/libkeel.la
check_PROGRAMS += tests/system/threads
tests_system_threads_SOURCES = tests/system/threads.c tests/system/must.h
tests_system_threads_CPPFLAGS = -I$(top_srcdir)/include
tests_system_threads_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_threads_LDADD = lib/libkeel.la

check_PROGRAMS += tests/system/asleep
tests_system_asleep_SOURCES = tests/system/asleep.c tests/system/must.h
tests_system_asleep_CPPFLAGS = -I$(top_srcdir)/include
tests_system_asleep_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_asleep_LDADD = lib/libkeel.la

check_PROGRAMS += tests/system/tagged
tests_system_tagged_SOURCES = tests/system/tagged.c tests/system/must.h
tests_system_tagged_CPPFLAGS = -I$(top_srcdir)/include
tests_system_tagged_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_tagged_LDADD = lib/libkeel.la

check_PROGRAMS += tests/system/comeback
tests_system_comeback_SOURCES = tests/system/comeback.c tests/system/must.h
tests_system_comeback_CPPFLAGS = -I$(top_srcdir)/include
tests_system_comeback_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_comeback_LDADD = lib/libkeel.la

check_PROGRAMS += tests/system/failover
tests_system_failover_SOURCES = tests/system/failover.c tests/system/must.h
tests_system_failover_CPPFLAGS = -I$(top_srcdir)/include
tests_system_failover_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_failover_LDADD = lib/libkeel.la

check_PROGRAMS += tests/system/stripe
tests_system_stripe_SOURCES = tests/system/stripe.c tests/system/must.h
tests_system_stripe_CPPFLAGS = -I$(top_srcdir)/include
tests_system_stripe_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_stripe_LDADD = lib/libkeel.la

check_PROGRAMS += tests/system/tags
tests_system_tags_SOURCES = tests/system/tags.c
tests_system_tags_CPPFLAGS = -I$(top_srcdir)/include
tests_system_tags_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_system_tags_LDADD = lib/libkeel.la
