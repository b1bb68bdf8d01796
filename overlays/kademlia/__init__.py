"""First contact through a Kademlia DHT."""
