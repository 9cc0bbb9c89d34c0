"""Firmware images: archives and shared objects that hold them, their strings, census, anchors and identity."""
