# bootstrap: from a process to its rails. libbootserver is the daemon's side, for the launcher.
noinst_LTLIBRARIES += libbootstrap.la libbootserver.la
libbootstrap_la_SOURCES = \
	bootstrap/backend.c bootstrap/backend.h bootstrap/cards.c bootstrap/cards.h \
	bootstrap/env.c bootstrap/env.h bootstrap/handover.c bootstrap/handover.h \
	bootstrap/host.c bootstrap/host.h bootstrap/init.c bootstrap/job_map.c bootstrap/job_map.h \
	bootstrap/native.c bootstrap/proto.c bootstrap/proto.h bootstrap/singleton.c
libbootserver_la_SOURCES = \
	bootstrap/allgather.c bootstrap/allgather.h bootstrap/ask.c bootstrap/cards.c bootstrap/fence.c bootstrap/job_map.c bootstrap/proto.c \
	bootstrap/server.c bootstrap/server.h bootstrap/server_internal.h
