"""The interface for applications: `CommunityManager`, its communities, and presence."""
