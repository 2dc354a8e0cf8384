# pml: messages by source and tag, in rooms of which each includes those before it (pml/README.md).
noinst_LTLIBRARIES += libpml.la
libpml_la_SOURCES =
EXTRA_DIST += pml/README.md \
	pml/interface/README.md \
	pml/match/README.md \
	pml/pieces/README.md \
	pml/peers/README.md \
	pml/requests/README.md \
	pml/progress/README.md \
	pml/calls/README.md \
	pml/process/README.md
libpml_la_SOURCES += pml/interface/base.h
libpml_la_SOURCES += pml/match/early.c pml/match/early.h pml/match/match.c pml/match/match.h \
	pml/match/queues.c pml/match/queues.h
libpml_la_SOURCES += pml/pieces/range.c pml/pieces/range.h pml/pieces/rate.c pml/pieces/rate.h \
	pml/pieces/schedule.c pml/pieces/schedule.h
libpml_la_SOURCES += pml/peers/context.c pml/peers/context.h pml/peers/core.h pml/peers/peer.c \
	pml/peers/peer.h pml/peers/stats.c pml/peers/stats.h pml/peers/stripe.c pml/peers/stripe.h
libpml_la_SOURCES += pml/requests/arrival.c pml/requests/arrival.h pml/requests/control.c \
	pml/requests/control.h pml/requests/recv.c pml/requests/recv.h pml/requests/request.c \
	pml/requests/request.h pml/requests/send.c pml/requests/send.h
libpml_la_SOURCES += pml/progress/progress.c pml/progress/progress.h
libpml_la_SOURCES += pml/calls/calls.c pml/calls/group.c pml/calls/probe.c pml/calls/wait.c
libpml_la_SOURCES += pml/process/open.c pml/process/process.c pml/process/process.h
