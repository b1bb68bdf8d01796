"""The words that every part speaks: topics, identities, events, records, traces, the outbox."""
