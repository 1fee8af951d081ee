"""What does the network add? In `pull` a reader pulls a point, and the kernel moves all others."""
