libbtl_la_SOURCES += btl/fault/fault.h btl/fault/fault.c
