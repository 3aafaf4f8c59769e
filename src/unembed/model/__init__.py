"""The conditional masked diffusion language model, and its checkpoint."""
