# examples: small programs that a newcomer reads first. They use the installed headers and libkeel,
# as a user's own programs do; -no-install makes them real executables that find the fresh library.
noinst_PROGRAMS += examples/handoff
examples_handoff_SOURCES = examples/handoff.c
examples_handoff_CPPFLAGS = -I$(top_srcdir)/include
examples_handoff_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_handoff_LDADD = lib/libkeel.la $(SODIUM_LIBS)
