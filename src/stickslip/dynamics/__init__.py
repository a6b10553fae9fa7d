"""How bodies move: rotations, momentum, the Jacobians of contacts and joints."""
