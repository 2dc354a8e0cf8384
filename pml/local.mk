# pml: messages by source and tag.
noinst_LTLIBRARIES += libpml.la
libpml_la_SOURCES = pml/match/queues.h pml/match/queues.c pml/match/match.h pml/match/match.c pml/match/early.h pml/match/early.c \
	pml/base.h pml/core.h pml/peer.h pml/peer.c pml/context.h pml/context.c pml/group.c \
	pml/request.h pml/request.c pml/rate.h pml/rate.c pml/schedule.h pml/schedule.c \
	pml/stripe.h pml/stripe.c pml/range.h pml/range.c pml/send.h pml/send.c \
	pml/recv.h pml/recv.c pml/control.h pml/control.c pml/arrival.h pml/arrival.c \
	pml/progress.h pml/progress.c pml/stats.h pml/stats.c pml/calls.c pml/probe.c pml/wait.c pml/open.c pml/process.h pml/process.c
EXTRA_DIST += pml/README.md
