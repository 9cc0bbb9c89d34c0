"""What a user asks: tensors, accesses, transfers; placement, folding, splitting, pseudo building.

`transfer` holds the values; `placement` decides where tensors lie, `access` turns patterns into walks; `build` makes
pseudo words (`direct`, `rows`, `transpose`, `gather`), `static` what the host expands itself.
"""
