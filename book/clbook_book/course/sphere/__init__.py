"""Where do embeddings on the sphere end?"""
