# tests of bootstrap/
