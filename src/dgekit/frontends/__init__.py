"""Where programs come from: transfer files (TOML), NEFF."""
