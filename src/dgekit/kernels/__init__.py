"""The place for compiled forms of the hot loops behind one interface; there are none yet, numpy runs everywhere."""
