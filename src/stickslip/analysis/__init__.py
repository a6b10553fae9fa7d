"""What can be said about a mechanical system in contact without running it."""
