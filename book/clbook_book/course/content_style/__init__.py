"""Why does the loss keep content and flatten style? `projector_figures` draws theory and images."""
