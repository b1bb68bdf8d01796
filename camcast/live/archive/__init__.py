"""The archive on disk: a file of SQLite, written in a thread of its own."""
