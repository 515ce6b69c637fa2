"""Pictures: one file per picture, each from plain numbers to a file."""
