"""For people who already have a tool: one file for each, which that tool's users import."""
