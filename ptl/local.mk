# ptl: the PTL framework.
noinst_LTLIBRARIES += libptl.la
libptl_la_SOURCES = ptl/base.h ptl/components.h ptl/framework.c ptl/procs.c \
	ptl/rail/rail.h ptl/rail/link.h ptl/rail/link.c ptl/rail/owed.h ptl/rail/owed.c ptl/rail/way.h ptl/rail/way.c ptl/rail/memory.h ptl/rail/memory.c ptl/rail/parts.h ptl/rail/parts.c ptl/rail/window.h ptl/rail/window.c ptl/rail/wire.h ptl/rail/wire.c ptl/rail/module.c ptl/rail/send.c ptl/rail/recv.c ptl/rail/pull.c ptl/rail/say.c
EXTRA_DIST += ptl/README.md
