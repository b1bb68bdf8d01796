"""Frames between processes: pipes over ZMTP and libzmq, and datagrams."""
