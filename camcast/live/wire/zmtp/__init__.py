"""ZMTP 3.1 on sockets of our own: the transport `zmtp` (ZeroMQ RFC 37)."""
