"""What leaves the tool: the walk for people, JSON forms and their schemas, the reference pages."""
