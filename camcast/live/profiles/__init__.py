"""Profiles of live links: key files, certificates, shared and signed links."""
