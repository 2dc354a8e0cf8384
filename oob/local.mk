# oob: byte links between processes.
EXTRA_DIST += oob/README.md
noinst_LTLIBRARIES += liboob.la
liboob_la_SOURCES = oob/contact.h oob/contact.c oob/connect.c oob/door.c oob/endpoint.h \
	oob/greeting.h oob/greeting.c oob/handshake.h oob/handshake.c oob/inbox.h oob/inbox.c oob/link.c \
	oob/listener.c oob/oob.h oob/oob.c oob/oob_wire.h oob/outbox.h oob/outbox.c \
	oob/ping.c \
	oob/pulse.h oob/pulse.c oob/record.h oob/record.c oob/watch.c
