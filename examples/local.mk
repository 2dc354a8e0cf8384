# examples: small programs that a newcomer reads first. They use the installed headers and libkeel,
# as a user's own programs do; -no-install makes them real executables that find the fresh library.
noinst_PROGRAMS += examples/handoff
examples_handoff_SOURCES = examples/handoff.c
examples_handoff_CPPFLAGS = -I$(top_srcdir)/include
examples_handoff_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_handoff_LDADD = lib/libkeel.la $(SODIUM_LIBS)

noinst_PROGRAMS += examples/rml_chat
examples_rml_chat_SOURCES = examples/rml_chat.c
examples_rml_chat_CPPFLAGS = -I$(top_srcdir)/include
examples_rml_chat_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_rml_chat_LDADD = lib/libkeel.la

noinst_PROGRAMS += examples/rml_control
examples_rml_control_SOURCES = examples/rml_control.c
examples_rml_control_CPPFLAGS = -I$(top_srcdir)/include
examples_rml_control_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_rml_control_LDADD = lib/libkeel.la

noinst_PROGRAMS += examples/counter
examples_counter_SOURCES = examples/counter.c examples/example.h
examples_counter_CPPFLAGS = -I$(top_srcdir)/include
examples_counter_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_counter_LDADD = lib/libkeel.la

noinst_PROGRAMS += examples/failover
examples_failover_SOURCES = examples/failover.c examples/example.h
examples_failover_CPPFLAGS = -I$(top_srcdir)/include
examples_failover_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_failover_LDADD = lib/libkeel.la

noinst_PROGRAMS += examples/message
examples_message_SOURCES = examples/message.c examples/example.h
examples_message_CPPFLAGS = -I$(top_srcdir)/include
examples_message_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_message_LDADD = lib/libkeel.la

noinst_PROGRAMS += examples/halo
examples_halo_SOURCES = examples/halo.c examples/example.h
examples_halo_CPPFLAGS = -I$(top_srcdir)/include
examples_halo_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_halo_LDADD = lib/libkeel.la

noinst_PROGRAMS += examples/pml_ring
examples_pml_ring_SOURCES = examples/pml_ring.c examples/example.h
examples_pml_ring_CPPFLAGS = -I$(top_srcdir)/include
examples_pml_ring_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_pml_ring_LDADD = lib/libkeel.la

noinst_PROGRAMS += examples/put
examples_put_SOURCES = examples/put.c examples/example.h
examples_put_CPPFLAGS = -I$(top_srcdir)/include
examples_put_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_put_LDADD = lib/libkeel.la

noinst_PROGRAMS += examples/btl2_put
examples_btl2_put_SOURCES = examples/btl2_put.c
examples_btl2_put_CPPFLAGS = -I$(top_srcdir)/include
examples_btl2_put_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_btl2_put_LDADD = lib/libkeel.la

noinst_PROGRAMS += examples/own_host
examples_own_host_SOURCES = examples/own_host.c
examples_own_host_CPPFLAGS = -I$(top_srcdir)/include
examples_own_host_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_own_host_LDADD = lib/libkeel.la $(SODIUM_LIBS)

# Written for ORTE: the old include paths alone.
noinst_PROGRAMS += examples/rml_ring
examples_rml_ring_SOURCES = examples/rml_ring.c
examples_rml_ring_CPPFLAGS = $(COMPAT_CPPFLAGS)
examples_rml_ring_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_rml_ring_LDADD = lib/libkeel.la

examplesdir = $(docdir)/examples
dist_examples_DATA = examples/README.md examples/btl2_put.c examples/counter.c \
	examples/example.h examples/failover.c examples/halo.c examples/handoff.c \
	examples/message.c examples/own_host.c examples/pml_ring.c examples/put.c \
	examples/rml_chat.c examples/rml_control.c examples/rml_ring.c
