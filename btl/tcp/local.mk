# btl/tcp
libbtl_la_SOURCES +=
