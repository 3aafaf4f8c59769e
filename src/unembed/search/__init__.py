"""With an encoder at hand: texts whose vectors come ever nearer to the one that is given."""
