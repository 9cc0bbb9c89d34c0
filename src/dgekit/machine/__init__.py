"""Everything that holds state: memory, semaphores, rings, doorbells, RDM, completion, engines, session.

`session` runs whole programs: `prepare` lowers each item, `scheduler` orders them, `carry` takes one after the other
through firmware and descriptors; `machine` pushes the descriptors into rings and runs the engines.
"""
