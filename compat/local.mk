# compat: what programs written for ORTE call besides the RML; part of libkeel.
noinst_LTLIBRARIES += libcompat.la
libcompat_la_SOURCES = \
	compat/argv.c compat/contact.c compat/errmgr.c compat/list.c compat/names.c compat/output.c \
	compat/proc_info.c compat/proc_info.h compat/runtime.c compat/wait.c
libcompat_la_CPPFLAGS = -I$(top_srcdir)/include/compat $(AM_CPPFLAGS)
