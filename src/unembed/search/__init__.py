"""Guided search: with an encoder, find texts whose vectors come ever nearer to the target."""
