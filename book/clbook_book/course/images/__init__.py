"""The runs on real images: their records, which several pages show, and what a step costs."""
