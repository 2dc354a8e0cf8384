# btl: the data plane's framework and modules.
noinst_LTLIBRARIES += libbtl.la
libbtl_la_SOURCES = btl/base.h btl/bml.h btl/region.h
include $(srcdir)/btl/self/local.mk
include $(srcdir)/btl/sm/local.mk
include $(srcdir)/btl/tcp/local.mk
