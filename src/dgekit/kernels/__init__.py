"""The hot loops behind one interface; the numpy form is the reference."""
