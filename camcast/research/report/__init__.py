"""The common part of pages and figures: drawing, one-file pages, folders of results."""
