"""Grids of simulations: what is stored, resumed, and shown side by side."""
