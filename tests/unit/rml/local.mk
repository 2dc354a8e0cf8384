# tests of rml/
