"""Adapters: an inverter for another encoder after a few thousand embeddings."""
