# tests of btl/
