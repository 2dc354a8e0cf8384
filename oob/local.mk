# oob: byte links between processes.
noinst_LTLIBRARIES += liboob.la
liboob_la_SOURCES = oob/contact.h oob/oob.h
