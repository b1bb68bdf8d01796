"""Discoveries: how a process finds members of a community. Found by name, see `camcast.doors`."""
