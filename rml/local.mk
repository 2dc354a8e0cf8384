# rml: messages by name and tag.
noinst_LTLIBRARIES += librml.la
librml_la_SOURCES = rml/core.h
