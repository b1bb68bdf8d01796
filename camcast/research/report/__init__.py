"""What pages and figures share: drawing, one-file pages, folders of results."""
