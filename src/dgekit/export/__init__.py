"""What leaves the tool: JSON forms and their schemas."""
