"""Who may speak to whom over live links: key files, certificates, shared and signed links."""
