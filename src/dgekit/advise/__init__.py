"""What to expect of a transfer before it runs: rules, hazards, descriptors and ring memory, cost."""
