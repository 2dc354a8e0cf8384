# rml: messages by name and tag.
noinst_LTLIBRARIES += librml.la
librml_la_SOURCES = \
	rml/assemble.c rml/assemble.h rml/calls.h rml/cancel.c rml/cast.c rml/cast.h \
	rml/cast_wire.c rml/cast_wire.h rml/circle.c rml/circle.h rml/completion.h \
	rml/component.c rml/contacts.c rml/core.h rml/credit.c rml/credit.h rml/cut.c \
	rml/cut.h rml/dispatch.c rml/ends.c rml/exception.c rml/flow.c rml/frames.c \
	rml/ftevent.c rml/hear.c rml/links.c rml/match.c rml/match.h rml/mend.c rml/message.c \
	rml/message.h rml/module.c rml/outgoing.c rml/outgoing.h rml/pack.c rml/pack.h \
	rml/peer.c rml/peer.h rml/ping.c rml/receive.c rml/receive.h rml/receiver.c \
	rml/receiver.h rml/recv.c rml/repair.c rml/resolve.c rml/rml.c rml/rml_wire.h \
	rml/route.c rml/route.h rml/send.c rml/sender.c rml/sender.h rml/session.c \
	rml/session.h rml/silence.c rml/stamp.h rml/state.h rml/tree.c rml/tree.h rml/wire.c \
	rml/words.c rml/xcast.c rml/xcast.h rml/xcast_state.h rml/xcast_tree.c
librml_la_LIBADD = $(ZLIB_LIBS)
EXTRA_DIST += rml/README.md
