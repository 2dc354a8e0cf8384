# conformance: one suite per interface, run over every implementation.
