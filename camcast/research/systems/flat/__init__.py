"""Settings, simulator and model of protocols that gossip in one flat group."""
