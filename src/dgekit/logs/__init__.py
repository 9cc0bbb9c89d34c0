"""The firmware log grammar, from one table."""
