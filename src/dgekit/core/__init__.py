"""The vocabulary of every layer: errors, evidence, choices, dtypes, generations, events and state values."""
