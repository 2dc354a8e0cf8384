# btl2: BTL 2.0 over the modules of BTL 3.0.
noinst_LTLIBRARIES += libbtl2.la
libbtl2_la_SOURCES = btl2/trigger.c
EXTRA_DIST += btl2/README.md
