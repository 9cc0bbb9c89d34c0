"""What a firmware log tells: the transfers rebuilt, checked again, and written back as words (D95, D96)."""
