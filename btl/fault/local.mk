libbtl_la_SOURCES += btl/fault/fault_layer.h btl/fault/fault_layer.c btl/fault/hold.c \
	btl/fault/ops.c
