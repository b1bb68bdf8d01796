"""Telling what happens: recorder, trace, log, ring, counters and snapshots, and accounts of events.

The kinds of what happens are one table, in `camcast.vocabulary.happenings`.
"""
