# btl2: BTL 2.0 over the modules of BTL 3.0.
noinst_LTLIBRARIES += libbtl2.la
libbtl2_la_SOURCES = btl2/adapter.h btl2/module.c btl2/desc.c btl2/send.c btl2/rdma.c btl2/region.c
EXTRA_DIST += btl2/README.md
