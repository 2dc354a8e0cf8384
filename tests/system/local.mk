# system: TAP scripts over the built programs.
