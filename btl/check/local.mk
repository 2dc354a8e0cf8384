libbtl_la_SOURCES += btl/check/check.h btl/check/check.c btl/check/map.h btl/check/map.c \
	btl/check/report.c btl/check/desc.c btl/check/send.c btl/check/region.c \
	btl/check/op.h btl/check/op.c btl/check/ext.c btl/check/rdma.c
