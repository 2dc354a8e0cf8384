# ptl: the PTL framework.
noinst_LTLIBRARIES += libptl.la
libptl_la_SOURCES = ptl/base.h ptl/framework.c ptl/procs.c
EXTRA_DIST += ptl/README.md
