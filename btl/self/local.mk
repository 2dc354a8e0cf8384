# btl/self
libbtl_la_SOURCES +=
