"""What a subscriber wants: terms over topics and attributes, their grammar and their bounds."""
