"""Vector stores, read only: one protocol, one file each. `registry.open_store` opens one by its address."""
