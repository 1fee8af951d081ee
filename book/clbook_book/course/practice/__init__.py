"""Which run is healthy?"""
