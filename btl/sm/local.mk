# btl/sm
libbtl_la_SOURCES +=
