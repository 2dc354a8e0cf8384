# examples: small programs that a newcomer reads first.
