# conformance: one suite per interface, run over every implementation.
check_PROGRAMS += tests/conformance/btl
tests_conformance_btl_SOURCES = tests/conformance/btl.h tests/conformance/btl.c \
	tests/conformance/btl_table.c tests/conformance/btl_send.c tests/conformance/btl_stream.c \
	tests/conformance/btl_rdma.c tests/conformance/btl_ends.c \
	tests/lib/minihost.h tests/lib/minihost.c
tests_conformance_btl_LDADD = libbtl.la libbase.la

SYSTEM_TESTS += tests/conformance/btl-self.sh tests/conformance/btl-sm.sh \
	tests/conformance/btl-sm-copy.sh tests/conformance/btl-tcp.sh
EXTRA_DIST += tests/conformance/btl-self.sh tests/conformance/btl-sm.sh \
	tests/conformance/btl-sm-copy.sh tests/conformance/btl-tcp.sh
