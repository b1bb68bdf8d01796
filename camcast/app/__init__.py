"""What applications embed: `CommunityManager`, its communities, and who is there."""
