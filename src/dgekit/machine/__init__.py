"""Everything that holds state: memory, semaphores, rings, doorbells, RDM, completion, engines, session."""
