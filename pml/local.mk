# pml: messages by source and tag.
noinst_LTLIBRARIES += libpml.la
libpml_la_SOURCES = pml/queues.h pml/queues.c pml/match.h pml/match.c pml/early.h pml/early.c
EXTRA_DIST += pml/README.md
