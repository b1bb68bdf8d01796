"""The commands of research, one file each."""
