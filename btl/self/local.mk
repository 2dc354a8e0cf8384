# btl/self: loopback, the template for other modules.
libbtl_la_SOURCES += btl/self/self.c
EXTRA_DIST += btl/self/README.md
