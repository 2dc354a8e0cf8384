# tests of oob/
