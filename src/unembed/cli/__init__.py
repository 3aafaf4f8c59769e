"""The command line: thin commands over the library, each in a file of its own."""
