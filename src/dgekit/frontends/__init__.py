"""Where programs come from: transfer files (TOML), NEFF, bare words; `load` is the door to all of them."""
