"""Your own run: which of five is healthy, and what is wrong with six patients?"""
