# lint: what the tree itself must satisfy.
