"""Element conversion: dtype casts through fp32 and the arithmetic of accumulating copies."""
