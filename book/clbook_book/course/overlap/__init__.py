"""What does the loss know when views overlap?"""
