# bench: Keel beside its peers.
