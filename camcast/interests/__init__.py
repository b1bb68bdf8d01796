"""Interests of subscribers: terms over topics and attributes, their grammar and their bounds."""
