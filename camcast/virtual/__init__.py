"""The virtual network: the driver that runs nodes on virtual time."""
