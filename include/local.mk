# The installed headers.
keelincludedir = $(includedir)/keel
keelinclude_HEADERS = \
	include/keel/bitmap.h include/keel/btl.h include/keel/btl2.h include/keel/btl_ext.h include/keel/buffer.h \
	include/keel/convertor.h \
	include/keel/host.h include/keel/info.h include/keel/keel.h include/keel/object.h \
	include/keel/pml.h include/keel/ptl.h include/keel/ptl_base.h include/keel/ptl_ext.h include/keel/rml.h include/keel/tool.h include/keel/types.h
