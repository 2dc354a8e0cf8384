# wireup: what ranks and daemons say to each other.
noinst_LTLIBRARIES += libwireup.la
libwireup_la_SOURCES = wireup/cards.h wireup/cards.c wireup/codec.h wireup/codec.c \
	wireup/frame.h wireup/frame.c \
	wireup/job_map.h wireup/job_map.c \
	wireup/look.h wireup/look.c \
	wireup/proto.h wireup/proto.c
EXTRA_DIST += wireup/README.md
