"""What a graph says: structure, files, identification. Functions on graphs and names."""
