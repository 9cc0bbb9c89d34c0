"""What a user asks: tensors, accesses, transfers; placement, folding, splitting, pseudo building."""
