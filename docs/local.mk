# docs: man pages and texts.
