# tests of launcher/
