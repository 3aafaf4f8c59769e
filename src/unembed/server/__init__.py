"""The live demonstration and its API: one page, a few endpoints, one queue in front of the model."""
