# rml: messages by name and tag, in rooms of which each includes those before it (rml/README.md).
noinst_LTLIBRARIES += librml.la
librml_la_SOURCES =
librml_la_LIBADD = $(ZLIB_LIBS)
EXTRA_DIST += rml/README.md rml/interface/README.md rml/tree/README.md rml/message/README.md \
	rml/delivery/README.md rml/state/README.md rml/traffic/README.md rml/broadcast/README.md \
	rml/links/README.md rml/calls/README.md

# What bootstrap and launcher see.
librml_la_SOURCES += rml/interface/completion.h rml/interface/core.h

# The daemons' tree.
librml_la_SOURCES += rml/tree/route.c rml/tree/route.h rml/tree/tree.c rml/tree/tree.h

# Messages and their frames.
librml_la_SOURCES += rml/message/assemble.c rml/message/assemble.h rml/message/cut.c \
	rml/message/cut.h rml/message/match.c rml/message/match.h rml/message/message.c \
	rml/message/message.h rml/message/pack.c rml/message/pack.h rml/message/rml_wire.h \
	rml/message/stamp.h rml/message/wire.c

# The delivery protocol.
librml_la_SOURCES += rml/delivery/credit.c rml/delivery/credit.h rml/delivery/receiver.c \
	rml/delivery/receiver.h rml/delivery/sender.c rml/delivery/sender.h rml/delivery/session.c \
	rml/delivery/session.h

# An RML's state.
librml_la_SOURCES += rml/state/circle.c rml/state/circle.h rml/state/dispatch.c rml/state/peer.c \
	rml/state/peer.h rml/state/state.h

# Frames on their way.
librml_la_SOURCES += rml/traffic/flow.c rml/traffic/frames.c rml/traffic/hear.c \
	rml/traffic/outgoing.c rml/traffic/outgoing.h rml/traffic/words.c

# Broadcasts.
librml_la_SOURCES += rml/broadcast/cast.c rml/broadcast/cast.h rml/broadcast/cast_wire.c \
	rml/broadcast/cast_wire.h rml/broadcast/xcast.c rml/broadcast/xcast.h rml/broadcast/xcast_state.h \
	rml/broadcast/xcast_tree.c

# Links and ends.
librml_la_SOURCES += rml/links/ends.c rml/links/links.c rml/links/mend.c rml/links/repair.c \
	rml/links/resolve.c rml/links/silence.c

# The calls.
librml_la_SOURCES += rml/calls/calls.h rml/calls/cancel.c rml/calls/component.c rml/calls/contacts.c \
	rml/calls/exception.c rml/calls/ftevent.c rml/calls/module.c rml/calls/ping.c rml/calls/receive.c \
	rml/calls/receive.h rml/calls/recv.c rml/calls/rml.c rml/calls/send.c
