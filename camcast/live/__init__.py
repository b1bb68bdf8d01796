"""The live driver: real clock, real sockets."""
