"""From a batch to an application: deliveries, subscriptions, and what a subscriber gets."""
