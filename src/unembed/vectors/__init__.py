"""Vectors as people have them: arrays, files, indexes; and whether they fit a model."""
