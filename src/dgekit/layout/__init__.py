"""Bits to values and back, knowing nothing of DMA: fields, structs, unions, scalar codec, columns, diagrams."""
