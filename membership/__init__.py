"""Membership backends: who is in my community. Found by name (`camcast.doors.plugs`)."""
