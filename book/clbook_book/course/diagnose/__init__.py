"""What is wrong with my encoder? The lines of each run."""
